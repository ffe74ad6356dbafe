package millstream.metrics;

import java.util.concurrent.locks.LockSupport;
import org.apache.spark.TaskContext;
import org.apache.spark.util.TaskCompletionListener;

/**
 * A clock that is read in a nanosecond, and ticks a hundred times a second.
 *
 * <p>Reading the machine's clock before and after each group of rows would cost more than many groups do. Here most
 * groups take no time at all, and some a whole tick: on the whole the sum is right, as it is with a sampling profiler.
 */
public final class CoarseClock {
  private static final long STEP_NANOS = 10_000_000;

  private static volatile long nanos;
  private static int tasks;
  private static Thread thread;

  private CoarseClock() {}

  public static long nanos() {
    return nanos;
  }

  /** Lets it run as long as the current task does. While a query is planned, there is none. */
  public static void runInTask() {
    TaskContext context = TaskContext.get();
    if (context != null) {
      begin();
      TaskCompletionListener end = ended -> end();
      context.addTaskCompletionListener(end);
    }
  }

  private static synchronized void begin() {
    tasks++;
    if (thread == null) {
      nanos = System.nanoTime();
      thread = new Thread(CoarseClock::run, "millstream coarse clock");
      thread.setDaemon(true);
      thread.start();
    }
  }

  private static synchronized void end() {
    tasks--;
  }

  private static synchronized boolean isOver() {
    if (tasks == 0) {
      thread = null;
    }
    return thread == null;
  }

  private static void run() {
    while (!isOver()) {
      nanos = System.nanoTime();
      LockSupport.parkNanos(STEP_NANOS);
    }
  }
}
