package millstream.barrier;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import org.apache.spark.TaskContext;
import org.apache.spark.network.shuffle.streaming.DataMessage;
import org.apache.spark.shuffle.ShuffleHandle;
import org.apache.spark.shuffle.streaming.StreamingShuffleWriter;
import org.apache.spark.util.ErrorNotifier;
import scala.Option;
import scala.runtime.AbstractFunction0;
import scala.runtime.BoxedUnit;

/** Sends a task's rows on, and its barriers to all readers, behind all rows so far. */
final class ShuffleOut<K, V> extends StreamingShuffleWriter<K, V> {
  private final int id;
  private final int writers;

  ShuffleOut(ShuffleHandle handle, long task, TaskContext context, TaskBarriers barriers) {
    super(handle, task, context, Option.empty(), new ErrorNotifier());
    id = context.partitionId();
    writers = context.numPartitions();
    barriers.out(this);
  }

  /**
   * On the task's own thread, between two rows. A thread of Spark's sends half-filled buffers: each shard has a lock.
   */
  void send(Barrier barrier) {
    byte[] bytes = new Barrier.Sent(barrier, writers).bytes();
    for (var shard : shards()) {
      ByteBuf raw = Unpooled.directBuffer(bytes.length).writeBytes(bytes);
      DataMessage message = new DataMessage(id, shard.id(), bytes.length, raw, 0L);
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
