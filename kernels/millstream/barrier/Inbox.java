package millstream.barrier;

import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/**
 * Where a reader of the shuffle finds what was sent to it. Tasks of the same process put their rows in as they are: no
 * network, no serializer, and no buffer that a row waits in until it is full.
 */
final class Inbox {
  /** A reader: a task of the stage behind a shuffle. */
  private record Place(int shuffle, int reader) {}

  private static final ConcurrentHashMap<Place, Inbox> HERE = new ConcurrentHashMap<>();

  private final Place place;
  private final LinkedBlockingQueue<Arrival> arrivals = new LinkedBlockingQueue<>();
  private volatile boolean closed;

  private Inbox(Place place) {
    this.place = place;
  }

  static Inbox open(int shuffle, int reader) {
    Inbox made = new Inbox(new Place(shuffle, reader));
    HERE.put(made.place, made);
    return made;
  }

  /** NULL: the reader is in another process, or has not begun. */
  static Inbox of(int shuffle, int reader) {
    return HERE.get(new Place(shuffle, reader));
  }

  /** What comes when its reader has ended is thrown away: the run has failed, and continues from its last epoch. */
  void add(Arrival arrival) {
    arrivals.add(arrival);
    if (closed) {
      clear();
    }
  }

  /** NULL: nothing has come. */
  Arrival poll(long nanos) throws InterruptedException {
    return arrivals.poll(nanos, TimeUnit.NANOSECONDS);
  }

  /** Its reader has ended. */
  void close() {
    closed = true;
    HERE.remove(place, this);
    clear();
  }

  private void clear() {
    for (Arrival left = arrivals.poll(); left != null; left = arrivals.poll()) {
      left.release();
    }
  }
}
