package millstream.barrier;

/**
 * A step that keeps rows for a while on their way through a task. Tasks pull rows, so a row that was asked for has gone
 * all the way. That is not true for these steps, so they must be drained before a barrier.
 */
public interface Drains {
  /**
   * Returns when all rows that it got have gone on, and its reader waits for more. Called by the thread that reads the
   * task's input, which gives it no rows meanwhile.
   */
  void drain();
}
