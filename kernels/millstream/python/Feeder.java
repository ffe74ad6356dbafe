package millstream.python;

import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.apache.spark.TaskContext;
import org.apache.spark.TaskContext$;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** A thread that belongs to a task, and reads its input for a step that must not wait for it. */
public final class Feeder {
  private static final Logger LOG = LoggerFactory.getLogger(Feeder.class);
  private static final long PATIENCE_MILLIS = TimeUnit.SECONDS.toMillis(30);
  private static final Map<Long, Queue<Feeder>> RUNNING = new ConcurrentHashMap<>();

  private final TaskContext context;
  private final Runnable reading;
  private final Consumer<Throwable> end;
  private final Thread thread;
  private boolean started;

  /** {@code end}: called when the input has ended, with what has gone wrong; NULL: nothing. */
  public Feeder(TaskContext context, String step, Runnable reading, Consumer<Throwable> end) {
    this.context = context;
    this.reading = reading;
    this.end = end;
    thread = new Thread(this::run, "millstream feeds " + step + ", task " + context.taskAttemptId());
    thread.setDaemon(true);
    thread.setContextClassLoader(Thread.currentThread().getContextClassLoader());
  }

  /** When its step is first asked for a row: by then the task is complete. */
  public void start() {
    if (!started) {
      started = true;
      RUNNING
          .computeIfAbsent(context.taskAttemptId(), id -> new ConcurrentLinkedQueue<>())
          .add(this);
      thread.start();
    }
  }

  private void run() {
    TaskContext$.MODULE$.setTaskContext(context);
    Throwable failure = null;
    try {
      reading.run();
    } catch (Throwable error) {
      failure = error;
    } finally {
      TaskContext$.MODULE$.unset();
    }
    end.accept(failure);
  }

  /** The task is over; whether nothing of its input is in use any more. */
  public boolean stop() {
    if (!started) {
      return true;
    }
    if (Thread.currentThread() == thread) {
      return false;
    }
    thread.interrupt();
    try {
      thread.join(PATIENCE_MILLIS);
    } catch (InterruptedException again) {
      Thread.currentThread().interrupt();
    }
    if (thread.isAlive()) {
      LOG.warn("{} does not end", thread.getName());
      return false;
    }
    Queue<Feeder> others = RUNNING.get(context.taskAttemptId());
    if (others != null && others.remove(this) && others.isEmpty()) {
      RUNNING.remove(context.taskAttemptId());
    }
    return true;
  }

  /** Before what a task's threads use is closed; whether they have all ended. */
  public static boolean stopAll(TaskContext context) {
    Queue<Feeder> own = RUNNING.get(context.taskAttemptId());
    boolean all = true;
    for (Feeder feeder : own == null ? new ConcurrentLinkedQueue<Feeder>() : own) {
      all &= feeder.stop();
    }
    return all;
  }

  /** What has gone wrong on its thread, thrown on another. */
  public static RuntimeException rethrown(Throwable failure) {
    if (failure instanceof Error error) {
      throw error;
    }
    return failure instanceof RuntimeException known ? known : new IllegalStateException(failure);
  }
}
