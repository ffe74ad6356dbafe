package millstream.rabbitmq;

import com.rabbitmq.stream.Message;
import com.rabbitmq.stream.OffsetSpecification;
import com.rabbitmq.stream.StreamException;
import com.rabbitmq.stream.impl.Client;
import com.rabbitmq.stream.impl.Client.ClientParameters;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/** The records of a stream from an offset on. It connects again when the connection is lost, for a while. */
final class StreamTail implements AutoCloseable {
  /** Chunks that may be on their way. */
  private static final int CHUNKS = 4;
  /** Records that may wait here before more chunks are asked for. */
  private static final int WAITING = 20_000;

  private static final long PATIENCE_NANOS = TimeUnit.SECONDS.toNanos(60);
  private static final long REST_NANOS = TimeUnit.MILLISECONDS.toNanos(500);
  private static final byte ONLY = 1;

  record Entry(long offset, long millis, Message message) {}

  /** One connection, and what came by it. */
  private static final class Link {
    final LinkedBlockingQueue<Entry> arrived = new LinkedBlockingQueue<>();
    final AtomicInteger credits = new AtomicInteger(CHUNKS);
    volatile boolean lost;
    Client client;
  }

  private final StreamOptions options;
  private final String stream;
  private long next;
  private Entry waiting;
  private Link link;
  private long lostAt;
  private long triedAt;

  StreamTail(StreamOptions options, String stream, long from) {
    this.options = options;
    this.stream = stream;
    this.next = from;
  }

  /** The offset of the record that is to come. */
  long next() {
    return next;
  }

  StreamOptions options() {
    return options;
  }

  String stream() {
    return stream;
  }

  /** The next record, which stays; null if none came in time. */
  Entry peek(long nanos) throws InterruptedException {
    if (waiting != null) {
      return waiting;
    }
    if (link == null && !open()) {
      TimeUnit.NANOSECONDS.sleep(Math.min(nanos, REST_NANOS / 10));
      return null;
    }
    Entry found = link.arrived.poll();
    if (found == null && link.lost) {
      drop();
      return null;
    }
    if (found == null) {
      ask();
      found = link.arrived.poll(nanos, TimeUnit.NANOSECONDS);
    }
    while (found != null && found.offset < next) {
      found = link.arrived.poll();
    }
    if (found != null) {
      check(found);
    }
    waiting = found;
    return found;
  }

  /** Takes the record that {@code peek} gave. */
  Entry take() {
    Entry taken = waiting;
    waiting = null;
    next = taken.offset + 1;
    if (link.arrived.size() < WAITING / 2) {
      ask();
    }
    return taken;
  }

  /** Whatever is before this offset will not be asked for. */
  void skipTo(long offset) {
    next = Math.max(next, offset);
  }

  private void ask() {
    while (!link.lost && link.credits.get() < CHUNKS && link.arrived.size() < WAITING) {
      try {
        link.credits.incrementAndGet();
        link.client.credit(ONLY, 1);
      } catch (StreamException e) {
        link.lost = true;
      }
    }
  }

  /**
   * Offsets may leave out some: the server keeps its own notes among the records. But nothing may be missing that was
   * deleted before it was read.
   */
  private void check(Entry found) {
    if (found.offset == next || options.skips()) {
      return;
    }
    try (StreamEnds ends = new StreamEnds(options)) {
      long begin = ends.first(stream);
      if (begin > next) {
        throw RabbitException.lost(stream, next, begin);
      }
    }
  }

  /** Whether it is connected: if not, it tries again later, and gives up after a while. */
  private boolean open() {
    long now = System.nanoTime();
    if (triedAt != 0 && now - triedAt < REST_NANOS) {
      return false;
    }
    triedAt = now;
    try {
      link = connected();
      lostAt = 0;
      return true;
    } catch (RabbitException | StreamException e) {
      lostAt = lostAt == 0 ? now : lostAt;
      boolean unreachable = e instanceof StreamException || e.getMessage().startsWith("MS-RABBITMQ-003");
      if (!unreachable || now - lostAt > PATIENCE_NANOS) {
        throw e instanceof RabbitException ? e : RabbitException.noAnswer(e.getMessage(), e);
      }
      return false;
    }
  }

  private Link connected() {
    Link made = new Link();
    made.client = options.connect(new ClientParameters()
        .chunkListener((client, id, offset, records, size) -> {
          made.credits.decrementAndGet();
          return null;
        })
        .messageListener(
            (id, offset, millis, committed, context, message) -> made.arrived.add(new Entry(offset, millis, message)))
        .metadataListener((moved, code) -> made.lost = true)
        .shutdownListener(context -> made.lost = true));
    try {
      StreamEnds.check(stream, made.client.subscribe(ONLY, stream, OffsetSpecification.offset(next), CHUNKS));
    } catch (RuntimeException e) {
      made.client.close();
      throw e;
    }
    return made;
  }

  private void drop() {
    Link gone = link;
    link = null;
    triedAt = 0;
    gone.client.close();
  }

  @Override
  public void close() {
    if (link != null) {
      drop();
    }
  }
}
