package millstream.barrier;

import java.util.ArrayDeque;
import java.util.HashSet;
import java.util.Iterator;
import java.util.Set;
import java.util.function.Consumer;

/**
 * Brings the messages of several writers into an order in which each barrier comes once, behind all messages that any
 * writer sent before it and in front of all that any sent behind it.
 *
 * <pre>
 *   writer 0:  a b │ c          a b d │ c e
 *   writer 1:  d   │ e    ──▶         ╰─ aligned: it has come from both
 * </pre>
 *
 * <p>Messages of a writer whose barrier has come are held until it has come from the others. It is used by one thread.
 *
 * @param <M> the messages
 */
final class Alignment<M> {
  /** What must be known about a message. */
  interface Reading<M> {
    int writer(M message);

    /** NULL: it is no barrier. */
    Barrier.Sent barrier(M message);
  }

  /** Where messages come from; NULL: there is none now. */
  interface Arrivals<M> {
    M next() throws InterruptedException;
  }

  private final Reading<M> reading;
  private final Set<Integer> arrived = new HashSet<>();
  private final ArrayDeque<M> held = new ArrayDeque<>();
  /** Held before the last barrier, and not looked at since. */
  private final ArrayDeque<M> again = new ArrayDeque<>();

  /** The one that has come from some writers; NULL: there is none. */
  private Barrier.Sent barrier;
  /** When it came from the first of them. */
  private long since;

  Alignment(Reading<M> reading) {
    this.reading = reading;
  }

  /** The next message; NULL: none is there now, or a barrier is aligned, and waits to be {@link #passed}. */
  M next(Arrivals<M> arrivals) throws InterruptedException {
    while (aligned() == null) {
      M message = again.isEmpty() ? arrivals.next() : again.poll();
      if (message == null) {
        return null;
      }
      int writer = reading.writer(message);
      if (arrived.contains(writer)) {
        held.add(message);
        continue;
      }
      Barrier.Sent found = reading.barrier(message);
      if (found == null) {
        return message;
      }
      arrive(writer, found);
    }
    return null;
  }

  private void arrive(int writer, Barrier.Sent found) {
    if (barrier != null && !barrier.equals(found)) {
      throw new IllegalStateException("writer " + writer + " sends " + found + " where others send " + barrier);
    }
    since = barrier == null ? System.nanoTime() : since;
    barrier = found;
    arrived.add(writer);
  }

  /** The barrier that has come from all writers; NULL: there is none. */
  Barrier aligned() {
    return barrier != null && arrived.size() == barrier.writers() ? barrier.barrier() : null;
  }

  /** When the barrier that is there came from its first writer, in nanoseconds. */
  long since() {
    return since;
  }

  /** Everything for this barrier is done. */
  void passed() {
    barrier = null;
    arrived.clear();
    // What was held comes before what is left from earlier, which was held behind it.
    for (Iterator<M> last = held.descendingIterator(); last.hasNext(); ) {
      again.addFirst(last.next());
    }
    held.clear();
  }

  /** Gives up what is held. */
  void drain(Consumer<M> release) {
    held.forEach(release);
    again.forEach(release);
    held.clear();
    again.clear();
  }
}
