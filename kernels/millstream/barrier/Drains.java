package millstream.barrier;

/**
 * A step that keeps rows for a while on their way through a task. Tasks pull, so that a row that was asked for has gone
 * all the way; of these steps it is not true, and before a barrier they must be asked.
 */
public interface Drains {
  /**
   * Returns when all rows that it was given have gone on, and who reads it waits for more. Called by the thread that
   * reads the task's input, which gives it no rows meanwhile.
   */
  void drain();
}
