package millstream.barrier;

/** What goes wrong with barriers: a code, what happened, what to do. */
final class BarrierException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  private BarrierException(String message) {
    super(message);
  }

  static BarrierException late(Barrier barrier, int reported, int tasks, long millis) {
    return new BarrierException(String.format(
        "MS-RUN-014: the barrier of epoch %d did not come through within %.0f s: %d of %d tasks have reported.",
        barrier.epoch(), millis / 1000.0, reported, tasks));
  }
}
