package millstream.rabbitmq;

import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;

/** Connections that an epoch has left open: the next one continues with them. */
final class OpenTails {
  private static final long KEPT_SECONDS = 30;

  private record Kept(StreamTail tail, long since) {}

  private static final List<Kept> KEPT = new ArrayList<>();
  private static ScheduledExecutorService cleaner;

  private OpenTails() {}

  static StreamTail at(StreamOptions options, String stream, long from) {
    synchronized (KEPT) {
      for (Iterator<Kept> each = KEPT.iterator(); each.hasNext(); ) {
        StreamTail tail = each.next().tail;
        boolean same = tail.stream().equals(stream) && tail.options().equals(options);
        if (same && tail.next() == from) {
          each.remove();
          return tail;
        }
      }
    }
    return new StreamTail(options, stream, from);
  }

  static void keep(StreamTail tail) {
    synchronized (KEPT) {
      KEPT.add(new Kept(tail, System.nanoTime()));
      if (cleaner == null) {
        cleaner = Executors.newSingleThreadScheduledExecutor(work -> {
          Thread thread = new Thread(work, "millstream-rabbitmq-streams");
          thread.setDaemon(true);
          return thread;
        });
        cleaner.scheduleWithFixedDelay(OpenTails::clean, KEPT_SECONDS, KEPT_SECONDS / 2, TimeUnit.SECONDS);
      }
    }
  }

  private static void clean() {
    List<StreamTail> old = new ArrayList<>();
    synchronized (KEPT) {
      long now = System.nanoTime();
      for (Iterator<Kept> each = KEPT.iterator(); each.hasNext(); ) {
        Kept kept = each.next();
        if (now - kept.since > TimeUnit.SECONDS.toNanos(KEPT_SECONDS)) {
          each.remove();
          old.add(kept.tail);
        }
      }
    }
    old.forEach(StreamTail::close);
  }
}
