package millstream.sink;

import java.io.IOException;
import java.util.Arrays;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;

/**
 * A tombstone that waits for the row after it. In real time that row may be seconds away, so there it waits for
 * milliseconds only. Callers hold this object's monitor.
 */
final class HeldBack {
  private static final long WAIT_MILLIS = 5;

  /** One thread per executor, for all tasks: it only has work when a delete comes alone. */
  private static final class Clock {
    static final ScheduledExecutorService THREAD = Executors.newSingleThreadScheduledExecutor(work -> {
      Thread thread = new Thread(work, "millstream-tombstones");
      thread.setDaemon(true);
      return thread;
    });
  }

  private final TaskWriter to;
  private final boolean timed;
  private boolean holds;
  private byte[] key;
  private long held;
  private boolean closed;
  private IOException failure;

  HeldBack(TaskWriter to, boolean timed) {
    this.to = to;
    this.timed = timed;
  }

  void hold(byte[] tombstone) throws IOException {
    release();
    holds = true;
    key = tombstone;
    long number = ++held;
    if (timed) {
      Clock.THREAD.schedule(() -> late(number), WAIT_MILLIS, TimeUnit.MILLISECONDS);
    }
  }

  /** A row with this key is about to be written: it replaces its tombstone. */
  void drop(byte[] written) throws IOException {
    if (holds && Arrays.equals(key, written)) {
      holds = false;
    }
    release();
  }

  private void release() throws IOException {
    if (failure != null) {
      throw failure;
    }
    if (holds) {
      holds = false;
      to.write(key, null);
    }
  }

  private synchronized void late(long number) {
    try {
      if (number == held && !closed) {
        release();
      }
    } catch (IOException e) {
      failure = e;
    }
  }

  void close(boolean write) throws IOException {
    closed = true;
    if (write) {
      release();
    }
  }
}
