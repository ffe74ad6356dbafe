package millstream.barrier;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.util.Arrays;
import java.util.Objects;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import org.apache.spark.ShuffleDependency;
import org.apache.spark.TaskContext;
import org.apache.spark.network.shuffle.streaming.DataMessage;
import org.apache.spark.shuffle.BaseShuffleHandle;
import org.apache.spark.shuffle.ShuffleHandle;
import org.apache.spark.shuffle.streaming.StreamingShuffleWriter;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.util.ErrorNotifier;
import org.apache.spark.util.MutablePair;
import scala.Option;
import scala.Product2;
import scala.collection.AbstractIterator;
import scala.collection.Iterator;
import scala.runtime.AbstractFunction0;
import scala.runtime.BoxedUnit;

/**
 * Sends a task's rows on, and its barriers to all readers, behind all rows so far: to readers in the same process by
 * hand, to others over the network, as Spark does.
 */
final class ShuffleOut<K, V> extends StreamingShuffleWriter<K, V> {
  /** Bytes that wait for one reader in this process, of all its writers. */
  private static final int ROOM = 8 << 20;
  /** What a row takes beside its bytes. */
  private static final int ROW_BYTES = 128;

  private static final int LOOK_MILLIS = 10;

  private final int shuffle;
  private final ShuffleDependency<K, V, ?> dependency;
  private final int id;
  private final int writers;
  private final int room;
  private final Semaphore[] rooms;
  /** By reader; NULL: it is in another process. */
  private Inbox[] inboxes;

  @SuppressWarnings("unchecked")
  ShuffleOut(ShuffleHandle handle, long task, TaskContext context, TaskBarriers barriers) {
    super(handle, task, context, Option.empty(), new ErrorNotifier());
    shuffle = handle.shuffleId();
    dependency = ((BaseShuffleHandle<K, V, ?>) handle).dependency();
    id = context.partitionId();
    writers = context.numPartitions();
    room = Math.max(ROOM / writers, 2 * ROW_BYTES);
    rooms = new Semaphore[shards().length];
    Arrays.setAll(rooms, reader -> new Semaphore(room));
    barriers.out(this);
  }

  @Override
  public void write(Iterator<Product2<K, V>> records) {
    Others others = new Others(records);
    if (Arrays.stream(inboxes()).anyMatch(Objects::isNull)) {
      super.write(others);
      return;
    }
    if (others.hasNext()) {
      throw new IllegalStateException("a row has no reader");
    }
    for (var shard : shards()) {
      shard.close();
    }
    awaiting(() -> allAcksReceived().await(LOOK_MILLIS, TimeUnit.MILLISECONDS));
  }

  /** The rows for readers in other processes. The others are handed over on the way. */
  private final class Others extends AbstractIterator<Product2<K, V>> {
    private final Iterator<Product2<K, V>> all;
    private Product2<K, V> next;

    Others(Iterator<Product2<K, V>> all) {
      this.all = all;
    }

    @Override
    public boolean hasNext() {
      while (next == null && all.hasNext()) {
        Product2<K, V> record = all.next();
        int reader = dependency.partitioner().getPartition(record._1());
        Inbox inbox = inboxes()[reader];
        if (inbox == null) {
          next = record;
        } else {
          UnsafeRow row = (UnsafeRow) record._2();
          // Spark fills one pair, and one row, again and again, unless its shuffle keeps rows: then it copies them.
          hand(inbox, rooms[reader], record instanceof MutablePair ? row.copy() : row);
        }
      }
      return next != null;
    }

    @Override
    public Product2<K, V> next() {
      Product2<K, V> record = next;
      next = null;
      return record;
    }
  }

  private void hand(Inbox inbox, Semaphore left, UnsafeRow row) {
    int cost = (int) Math.min((long) row.getSizeInBytes() + ROW_BYTES, room);
    if (!left.tryAcquire(cost)) {
      awaiting(() -> left.tryAcquire(cost, LOOK_MILLIS, TimeUnit.MILLISECONDS));
    }
    inbox.add(new Arrival.Row(id, row, cost, left));
  }

  /** Waits until all readers are connected: then those in this process can be found. */
  private Inbox[] inboxes() {
    if (inboxes == null) {
      Inbox[] found = new Inbox[shards().length];
      for (var shard : shards()) {
        awaiting(() -> {
          Thread.sleep(shard.hasClient() ? 0 : 1);
          return shard.hasClient();
        });
        found[shard.id()] = Inbox.of(shuffle, shard.id());
      }
      inboxes = found;
    }
    return inboxes;
  }

  private interface Attempt {
    boolean made() throws InterruptedException;
  }

  private void awaiting(Attempt attempt) {
    try {
      while (!attempt.made()) {
        context().killTaskIfInterrupted();
        errorNotifier().throwErrorIfExists();
      }
    } catch (InterruptedException killed) {
      context().killTaskIfInterrupted();
      throw new IllegalStateException("the task was interrupted", killed);
    }
  }

  /** On the task's own thread, between two rows. */
  void send(Barrier barrier) {
    Barrier.Sent sent = new Barrier.Sent(barrier, writers);
    for (var shard : shards()) {
      Inbox inbox = inboxes()[shard.id()];
      if (inbox != null) {
        inbox.add(new Arrival.Mark(id, sent));
        continue;
      }
      byte[] bytes = sent.bytes();
      ByteBuf raw = Unpooled.directBuffer(bytes.length).writeBytes(bytes);
      DataMessage message = new DataMessage(id, shard.id(), bytes.length, raw, 0L);
      // A thread of Spark's sends half-filled buffers: each shard has a lock.
      synchronized (shard) {
        shard.send();
        shard.send(message, new AbstractFunction0<BoxedUnit>() {
          @Override
          public BoxedUnit apply() {
            raw.release();
            return BoxedUnit.UNIT;
          }
        });
      }
    }
  }
}
