package millstream.sink;

import java.io.IOException;
import java.time.Duration;
import java.util.LinkedHashSet;
import java.util.Set;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import millstream.journal.SegmentWriter;

/**
 * Lets readers of uncommitted rows see what a task writes, a moment later: where that is a call to another machine, one
 * for each row would take most of the task's time.
 */
final class SoonSeen {
  /** One thread per executor, for all tasks. */
  private static final class Clock {
    static final ScheduledExecutorService THREAD = Executors.newSingleThreadScheduledExecutor(work -> {
      Thread thread = new Thread(work, "millstream-uncommitted");
      thread.setDaemon(true);
      return thread;
    });
  }

  private final Duration after;
  private final Set<SegmentWriter> unseen = new LinkedHashSet<>();
  private boolean closed;
  private IOException failure;

  SoonSeen(Duration after) {
    this.after = after;
  }

  synchronized void append(SegmentWriter segment, long now, byte[] key, byte[] value) throws IOException {
    check();
    segment.append(now, key, value);
    if (unseen.isEmpty()) {
      Clock.THREAD.schedule(this::flush, after.toMillis(), TimeUnit.MILLISECONDS);
    }
    unseen.add(segment);
  }

  private synchronized void flush() {
    try {
      for (SegmentWriter segment : closed ? Set.<SegmentWriter>of() : unseen) {
        segment.flush();
      }
    } catch (IOException e) {
      failure = e;
    }
    unseen.clear();
  }

  private void check() throws IOException {
    if (failure != null) {
      throw failure;
    }
  }

  /** From now on the task has its segments to itself. */
  synchronized void close() {
    closed = true;
  }

  /** The same, for a task that continues to use them. */
  synchronized void end() throws IOException {
    closed = true;
    check();
  }
}
