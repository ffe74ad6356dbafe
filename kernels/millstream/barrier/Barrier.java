package millstream.barrier;

import java.io.Serializable;
import java.nio.ByteBuffer;

/**
 * A mark that flows with the rows. All rows before it belong to the epoch that it ends, all rows behind it to the next.
 *
 * @param number counts all barriers of a run, light ones too
 * @param epoch the epoch that it ends; of a light one, the epoch in which it falls
 * @param light it only moves time: nothing is saved, and no task reports
 * @param watermark how far event time has come, in milliseconds: what ends by then ends with it
 * @param clock the time on the clock, in milliseconds, for the rows behind it
 * @param published the last epoch that is known to be published, for sinks that publish before they continue
 */
public record Barrier(long number, long epoch, boolean light, long watermark, long clock, long published)
    implements Serializable {
  /**
   * What a message of the shuffle begins with if it is a barrier. Rows begin with their size, which is never negative.
   */
  private static final int MARK = -0x4D494C4C;

  private static final int BYTES = 2 * Integer.BYTES + 1 + 5 * Long.BYTES;

  /**
   * A barrier as it goes through a shuffle.
   *
   * @param writers how many tasks send it to every reader
   */
  record Sent(Barrier barrier, int writers) {
    byte[] bytes() {
      ByteBuffer out = ByteBuffer.allocate(BYTES).putInt(MARK).putInt(writers).put((byte) (barrier.light ? 1 : 0));
      out.putLong(barrier.number).putLong(barrier.epoch).putLong(barrier.watermark);
      return out.putLong(barrier.clock).putLong(barrier.published).array();
    }

    /** NULL: these are rows. */
    static Sent read(ByteBuffer in) {
      if (in.remaining() != BYTES || in.getInt() != MARK) {
        return null;
      }
      int writers = in.getInt();
      boolean light = in.get() == 1;
      long number = in.getLong();
      long epoch = in.getLong();
      return new Sent(new Barrier(number, epoch, light, in.getLong(), in.getLong(), in.getLong()), writers);
    }
  }
}
