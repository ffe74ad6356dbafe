package millstream.barrier;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.apache.spark.TaskContext;
import org.apache.spark.network.shuffle.streaming.DataMessage;
import org.apache.spark.network.shuffle.streaming.ShuffleChecksum;
import org.apache.spark.network.shuffle.streaming.StreamingShuffleMessage;
import org.apache.spark.network.shuffle.streaming.TerminationControlMessage;
import org.apache.spark.shuffle.ShuffleHandle;
import org.apache.spark.shuffle.streaming.StreamingShuffleReader;
import org.apache.spark.util.ErrorNotifier;
import org.apache.spark.util.TaskCompletionListener;
import scala.Option;

/**
 * Hands a stage the rows of its writers, and lets each barrier pass when it has come from all of them.
 *
 * <p>Messages that are held are not released, and so count against what their writer may send: back pressure is
 * Spark's.
 */
final class ShuffleIn<K, C> extends StreamingShuffleReader<K, C> {
  // No initializer: it is asked for while the constructor of the class above runs.
  private Queue queue;
  private final TaskBarriers barriers;

  ShuffleIn(ShuffleHandle handle, TaskContext context, TaskBarriers barriers) {
    super(handle, context, Option.empty(), new ErrorNotifier());
    this.barriers = barriers;
    messageQueue();
    TaskCompletionListener end = ended -> queue.giveUp();
    context.addTaskCompletionListener(end);
  }

  @Override
  public synchronized LinkedBlockingQueue<StreamingShuffleMessage> messageQueue() {
    if (queue == null) {
      queue = new Queue();
    }
    return queue;
  }

  private static final class Messages implements Alignment.Reading<StreamingShuffleMessage> {
    @Override
    public int writer(StreamingShuffleMessage message) {
      return message instanceof DataMessage data
          ? data.shuffleWriterId
          : ((TerminationControlMessage) message).shuffleWriterId;
    }

    @Override
    public Barrier.Sent barrier(StreamingShuffleMessage message) {
      if (!(message instanceof DataMessage data)) {
        return null;
      }
      Barrier.Sent found = Barrier.Sent.read(data.data.nioBuffer());
      if (found != null) {
        data.release();
      }
      return found;
    }
  }

  /** Spark asks it for the next message when all rows of the last are done with, and sent on or written. */
  private final class Queue extends LinkedBlockingQueue<StreamingShuffleMessage> {
    private static final long serialVersionUID = 1L;

    private final transient Alignment<StreamingShuffleMessage> alignment = new Alignment<>(new Messages());
    private transient boolean rung;

    @Override
    public StreamingShuffleMessage poll(long timeout, TimeUnit unit) throws InterruptedException {
      barriers.check();
      if (rung) {
        rung = false;
        pass();
      }
      for (; ; ) {
        long left = Math.min(unit.toNanos(timeout), barriers.patience());
        if (left <= 0) {
          return message(barriers.flush());
        }
        StreamingShuffleMessage message = alignment.next(() -> super.poll(left, TimeUnit.NANOSECONDS));
        Barrier barrier = alignment.aligned();
        if (message != null || barrier == null && barriers.patience() > 0) {
          return message;
        }
        if (barrier == null) {
          continue;
        }
        byte[] row = barriers.aligned(barrier, System.nanoTime() - alignment.since());
        if (row != null) {
          rung = true;
          return message(row);
        }
        pass();
      }
    }

    private void pass() {
      barriers.pass(alignment.aligned());
      alignment.passed();
    }

    /** As if a writer had sent this row. */
    private static DataMessage message(byte[] row) {
      ByteBuf raw =
          Unpooled.buffer(Integer.BYTES + row.length).writeInt(row.length).writeBytes(row);
      ShuffleChecksum sum = new ShuffleChecksum();
      sum.updateChecksum(raw, 0, raw.readableBytes());
      DataMessage message = new DataMessage(0, 0, raw.readableBytes(), raw, sum.getValue());
      raw.release();
      return message;
    }

    private void giveUp() {
      alignment.drain(StreamingShuffleMessage::release);
    }
  }
}
