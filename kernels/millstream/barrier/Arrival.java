package millstream.barrier;

import java.util.concurrent.Semaphore;
import org.apache.spark.network.shuffle.streaming.DataMessage;
import org.apache.spark.network.shuffle.streaming.StreamingShuffleMessage;
import org.apache.spark.network.shuffle.streaming.TerminationControlMessage;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;

/** What reaches a reader of the shuffle. */
sealed interface Arrival {
  /** The task that sent it. */
  int writer();

  /** NULL: it is no barrier. */
  default Barrier.Sent barrier() {
    return null;
  }

  /** It is done with, or given up. */
  default void release() {}

  /**
   * A row from a task in the same process.
   *
   * @param row nobody changes it any more
   * @param cost what it takes of the room until it is done with
   */
  record Row(int writer, UnsafeRow row, int cost, Semaphore room) implements Arrival {
    @Override
    public void release() {
      room.release(cost);
    }
  }

  /** A barrier from a task in the same process. */
  record Mark(int writer, Barrier.Sent barrier) implements Arrival {}

  /** Rows, a barrier, or the end of a writer, over the network. */
  record Message(StreamingShuffleMessage message) implements Arrival {
    @Override
    public int writer() {
      return message instanceof DataMessage data
          ? data.shuffleWriterId
          : ((TerminationControlMessage) message).shuffleWriterId;
    }

    @Override
    public Barrier.Sent barrier() {
      return message instanceof DataMessage data ? Barrier.Sent.read(data.data.nioBuffer()) : null;
    }

    @Override
    public void release() {
      message.release();
    }
  }
}
