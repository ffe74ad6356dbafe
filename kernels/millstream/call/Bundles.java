package millstream.call;

import java.nio.ByteBuffer;
import java.util.Collections;
import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.concurrent.TimeUnit;
import millstream.barrier.Drains;
import millstream.barrier.TaskBarriers;
import millstream.python.ArrowReading;
import millstream.python.Feeder;
import millstream.python.Worker;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.JoinedRow;
import org.apache.spark.util.TaskCompletionListener;

/**
 * The rows of one task on their way through Python.
 *
 * <pre>
 *   input ─▶ feeder's thread ─▶ a bundle ─▶ the reader's thread ⇄ Python ─▶ rows
 * </pre>
 *
 * <p>Asking the input for a row may block forever, while others are in a bundle. So a separate thread asks, and the
 * reader of this sends a bundle to Python when it is full, when nothing has come for a moment, when its first row has
 * waited for long enough, or before a barrier. The one fills a bundle while the other waits for Python. Where results
 * may come in any order, Python answers while calls are in flight; as long as there are such, it is asked again at
 * once, with the rows that have come since, and it takes its time to answer.
 */
final class Bundles implements Iterator<InternalRow>, Drains {
  /** If no row comes for this long, the input pauses. */
  private static final long PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(1);

  private static final long LOOK_MILLIS = 100;

  private final Call.Code code;
  private final TaskContext context = TaskContext.get();
  private final Feeder feeder;
  private final ArrowReading reading;
  private final long waitNanos;
  private Worker worker;
  /** How many rows Python has yet to give back. Only the reader's thread writes it, under the lock. */
  private int pending;

  private Iterator<InternalRow> out = Collections.emptyIterator();

  // Below: under the lock.
  private Bundle filling;
  private Bundle spare;
  private long first;
  private long last;
  private boolean draining;
  /** Whether the reader has nothing left, and waits for more. */
  private boolean waiting;

  private boolean ended;
  private Throwable failure;

  Bundles(Call.Code code, Iterator<InternalRow> input) {
    this.code = code;
    waitNanos = TimeUnit.MILLISECONDS.toNanos(code.waitMillis());
    filling = new Bundle(code.step(), code.input(), code.beside());
    spare = new Bundle(code.step(), code.input(), code.beside());
    reading = new ArrowReading(code.step(), code.answer());
    TaskCompletionListener closing = ended -> close();
    context.addTaskCompletionListener(closing);
    feeder = new Feeder(context, code.step(), () -> input.forEachRemaining(this::add), this::end);
    TaskBarriers barriers = TaskBarriers.here();
    if (barriers != null) {
      barriers.drains(this);
    }
  }

  /** On the feeder's thread. */
  private synchronized void add(InternalRow row) {
    while (filling.isFull()) {
      rest(0);
    }
    filling.add(row);
    last = System.nanoTime();
    if (filling.size() == 1) {
      first = last;
      notifyAll();
    } else if (filling.isFull()) {
      notifyAll();
    }
  }

  private synchronized void end(Throwable error) {
    ended = true;
    failure = error;
    notifyAll();
  }

  @Override
  public synchronized void drain() {
    draining = true;
    notifyAll();
    while (!waiting || filling.size() > 0) {
      rest(0);
    }
    draining = false;
  }

  @Override
  public boolean hasNext() {
    while (!out.hasNext()) {
      Bundle ready = ready();
      if (ready == null) {
        return false;
      }
      out = called(ready);
    }
    return true;
  }

  @Override
  public InternalRow next() {
    if (!hasNext()) {
      throw new NoSuchElementException();
    }
    return out.next();
  }

  /** The next one to go; NULL: the input has ended. */
  private synchronized Bundle ready() {
    feeder.start();
    waiting = pending == 0;
    notifyAll();
    for (; ; ) {
      if (failure != null) {
        throw Feeder.rethrown(failure);
      }
      context.killTaskIfInterrupted();
      long left = left();
      if (left <= 0 || pending > 0) {
        break;
      }
      if (ended && filling.size() == 0) {
        return null;
      }
      rest(left);
    }
    waiting = false;
    Bundle ready = filling;
    filling = spare;
    spare = ready;
    notifyAll();
    return ready;
  }

  /** How long to wait, in nanoseconds, until there is something to send. */
  private long left() {
    if (filling.size() == 0) {
      return TimeUnit.MILLISECONDS.toNanos(LOOK_MILLIS);
    }
    if (draining || ended || filling.isFull()) {
      return 0;
    }
    long now = System.nanoTime();
    return Math.min(first + waitNanos - now, last + PAUSE_NANOS - now);
  }

  /** {@code nanos}: the longest wait; 0: until it is notified. */
  private void rest(long nanos) {
    try {
      TimeUnit.NANOSECONDS.timedWait(this, nanos == 0 ? TimeUnit.MILLISECONDS.toNanos(LOOK_MILLIS) : nanos);
    } catch (InterruptedException stopped) {
      Thread.currentThread().interrupt();
      context.killTaskIfInterrupted();
      throw new IllegalStateException("step \"" + code.step() + "\" was stopped", stopped);
    }
  }

  private Iterator<InternalRow> called(Bundle bundle) {
    if (worker == null) {
      worker = Worker.start(code.step(), code.place(), code.command());
    }
    worker.send(bundle.take());
    List<InternalRow> beside = bundle.rows();
    ByteBuffer answer = ByteBuffer.wrap(worker.receive());
    code.counts().skipped += answer.getLong();
    still(answer.getLong());
    List<InternalRow> found = reading.rows(worker.receive());
    if (!code.beside()) {
      return found.iterator();
    }
    for (int i = 0; i < beside.size(); i++) {
      beside.set(i, new JoinedRow(beside.get(i), found.get(i)));
    }
    return beside.iterator();
  }

  private synchronized void still(long rows) {
    pending = (int) rows;
  }

  /** The reader is gone. */
  private void close() {
    if (feeder.stop()) {
      filling.close();
      spare.close();
    }
  }
}
