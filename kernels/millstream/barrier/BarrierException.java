package millstream.barrier;

import java.util.Map;

/** What goes wrong with barriers: a code, what happened, what to do. */
final class BarrierException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  private BarrierException(String message) {
    super(message);
  }

  /** {@code working}: for how many seconds the Python code of each step has not returned. */
  static BarrierException late(Barrier barrier, int reported, int tasks, long millis, Map<String, Long> working) {
    StringBuilder said = new StringBuilder(String.format(
        "MS-RUN-014: the barrier of epoch %d did not come through within %.0f s: %d of %d tasks have reported.",
        barrier.epoch(), millis / 1000.0, reported, tasks));
    working.forEach((step, seconds) ->
        said.append(String.format(" The Python code of step \"%s\" has not come back for %d s.", step, seconds)));
    return new BarrierException(said.toString());
  }
}
