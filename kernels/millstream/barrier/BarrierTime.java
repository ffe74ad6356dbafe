package millstream.barrier;

import java.util.concurrent.TimeUnit;

/** What {@code current_timestamp()} says in a run with barriers. */
public final class BarrierTime {
  private BarrierTime() {}

  /** Called by generated code: the time of the last barrier that has passed in this task, or the first, if none has. */
  public static long micros(long first) {
    TaskBarriers task = TaskBarriers.here();
    Barrier last = task == null ? null : task.passed();
    return last == null ? first : TimeUnit.MILLISECONDS.toMicros(last.clock());
  }
}
