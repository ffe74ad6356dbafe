package millstream.barrier;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufInputStream;
import java.io.ByteArrayInputStream;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.util.HashSet;
import java.util.NoSuchElementException;
import java.util.Set;
import java.util.concurrent.LinkedBlockingQueue;
import org.apache.spark.ShuffleDependency;
import org.apache.spark.SparkEnv;
import org.apache.spark.TaskContext;
import org.apache.spark.network.shuffle.streaming.DataMessage;
import org.apache.spark.network.shuffle.streaming.ShuffleChecksum;
import org.apache.spark.network.shuffle.streaming.StreamingShuffleMessage;
import org.apache.spark.serializer.SerializerInstance;
import org.apache.spark.shuffle.BaseShuffleHandle;
import org.apache.spark.shuffle.ShuffleHandle;
import org.apache.spark.shuffle.streaming.StreamingShuffleReader;
import org.apache.spark.util.ErrorNotifier;
import org.apache.spark.util.TaskCompletionListener;
import scala.Option;
import scala.Product2;
import scala.Tuple2;
import scala.collection.AbstractIterator;
import scala.collection.Iterator;

/**
 * Hands a stage the rows of its writers, and lets each barrier pass when it has come from all of them.
 *
 * <p>What is held is not released, and so counts against what its writer may send: rows that wait take bounded memory.
 */
final class ShuffleIn<K, C> extends StreamingShuffleReader<K, C> {
  /** How long it waits for a row before it looks whether the task has been killed. */
  private static final long LOOK_NANOS = 50_000_000;

  private final int shuffle;
  private final ShuffleDependency<K, ?, C> dependency;
  private final TaskBarriers barriers;
  private final Inbox inbox;
  private final Alignment<Arrival> alignment = new Alignment<>(new Reading());
  // No initializer: it is asked for while the constructor of the class above runs.
  private Network network;

  @SuppressWarnings("unchecked")
  ShuffleIn(ShuffleHandle handle, TaskContext context, TaskBarriers barriers) {
    super(handle, context, Option.empty(), new ErrorNotifier());
    shuffle = handle.shuffleId();
    dependency = ((BaseShuffleHandle<K, ?, C>) handle).dependency();
    this.barriers = barriers;
    inbox = Inbox.open(shuffle, context.partitionId());
    TaskCompletionListener end = ended -> giveUp();
    context.addTaskCompletionListener(end);
    synchronized (this) {
      network = new Network(inbox);
      notifyAll();
    }
  }

  private void giveUp() {
    inbox.close();
    alignment.drain(Arrival::release);
  }

  /** Where Spark puts what comes over the network. It connects to no writer before it has this. */
  @Override
  public synchronized LinkedBlockingQueue<StreamingShuffleMessage> messageQueue() {
    try {
      while (network == null) {
        wait();
      }
    } catch (InterruptedException end) {
      throw new IllegalStateException("the task has ended", end);
    }
    return network;
  }

  private static final class Network extends LinkedBlockingQueue<StreamingShuffleMessage> {
    private static final long serialVersionUID = 1L;

    private final transient Inbox inbox;

    Network(Inbox inbox) {
      this.inbox = inbox;
    }

    @Override
    public void put(StreamingShuffleMessage message) {
      inbox.add(new Arrival.Message(message));
    }
  }

  @Override
  public Iterator<Product2<K, C>> read() {
    return new Rows();
  }

  /** Asked for the next row, it knows that all rows before it have been sent on or written. */
  private final class Rows extends AbstractIterator<Product2<K, C>> {
    private final SerializerInstance serializer = dependency.serializer().newInstance();
    private final Set<Integer> ended = new HashSet<>();

    private Product2<K, C> row;
    /** More rows that came with it. */
    private Iterator<Product2<K, C>> more = Iterator.empty();
    /** What they came in. */
    private Arrival arrival;

    private boolean rung;
    private boolean finished;

    @Override
    public boolean hasNext() {
      try {
        while (row == null && !finished) {
          advance();
        }
      } catch (InterruptedException killed) {
        context().killTaskIfInterrupted();
        throw new IllegalStateException("the task was interrupted", killed);
      }
      return row != null;
    }

    @Override
    public Product2<K, C> next() {
      if (!hasNext()) {
        throw new NoSuchElementException();
      }
      Product2<K, C> next = row;
      row = null;
      return next;
    }

    private void advance() throws InterruptedException {
      if (more.hasNext()) {
        row = more.next();
        return;
      }
      if (arrival != null) {
        arrival.release();
        arrival = null;
      }
      if (rung) {
        rung = false;
        pass();
      }
      check();
      long wait = Math.min(LOOK_NANOS, barriers.patience());
      if (wait <= 0) {
        more = made(barriers.flush());
        return;
      }
      arrival = alignment.next(() -> inbox.poll(wait));
      if (arrival != null) {
        take(arrival);
      } else if (alignment.aligned() != null) {
        align();
      }
    }

    private void align() {
      byte[] timed = barriers.aligned(alignment.aligned(), System.nanoTime() - alignment.since());
      if (timed == null) {
        pass();
      } else {
        rung = true;
        more = made(timed);
      }
    }

    private void pass() {
      barriers.pass(alignment.aligned());
      alignment.passed();
    }

    @SuppressWarnings("unchecked")
    private void take(Arrival taken) throws InterruptedException {
      if (taken instanceof Arrival.Row one) {
        row = (Product2<K, C>) (Product2<?, ?>) new Tuple2<>(0, one.row());
      } else if (((Arrival.Message) taken).message() instanceof DataMessage data) {
        verify(data);
        more = read(new ByteBufInputStream(data.getRecordData()));
      } else {
        ended.add(taken.writer());
        if (ended.size() == writers()) {
          awaitAcknowledged();
          finished = true;
        }
      }
    }

    @SuppressWarnings("unchecked")
    private Iterator<Product2<K, C>> read(InputStream in) {
      return (Iterator<Product2<K, C>>)
          (Iterator<?>) serializer.deserializeStream(in).asKeyValueIterator();
    }

    /** As if a writer had sent this row. */
    private Iterator<Product2<K, C>> made(byte[] bytes) {
      byte[] sized = ByteBuffer.allocate(Integer.BYTES + bytes.length)
          .putInt(bytes.length)
          .put(bytes)
          .array();
      return read(new ByteArrayInputStream(sized));
    }

    private int writers() {
      return SparkEnv.get()
          .streamingShuffleOutputTracker()
          .get()
          .getAvailableShuffleWriterTaskLocations(shuffle)
          .get()
          .numShuffleWriterTasks();
    }

    /** A writer ends when it knows that all it has sent has come. */
    private void awaitAcknowledged() throws InterruptedException {
      while (terminationAckControlMessageSet().size() < ended.size()) {
        check();
        Thread.sleep(1);
      }
    }
  }

  private static final class Reading implements Alignment.Reading<Arrival> {
    @Override
    public int writer(Arrival arrival) {
      return arrival.writer();
    }

    @Override
    public Barrier.Sent barrier(Arrival arrival) {
      Barrier.Sent found = arrival.barrier();
      if (found != null) {
        arrival.release();
      }
      return found;
    }
  }

  private void check() {
    barriers.check();
    context().killTaskIfInterrupted();
    errorNotifier().throwErrorIfExists();
  }

  /** Spark's checksum of what goes over the network; 0 where it is switched off. */
  private static void verify(DataMessage message) {
    if (message.checksum == 0) {
      return;
    }
    ByteBuf data = message.data;
    ShuffleChecksum sum = new ShuffleChecksum();
    sum.updateChecksum(data, data.readerIndex(), data.readableBytes());
    if (sum.getValue() != message.checksum) {
      throw new IllegalStateException("rows from task " + message.shuffleWriterId + " were damaged on their way");
    }
  }
}
