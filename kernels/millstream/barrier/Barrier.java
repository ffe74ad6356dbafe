package millstream.barrier;

import java.io.Serializable;
import java.nio.ByteBuffer;

/**
 * A mark that flows with the rows. All rows before it belong to the epoch that it ends, all rows behind it to the next.
 *
 * @param number counts all barriers of a run, light ones too
 * @param epoch the epoch that it ends; of a light one, the epoch in which it falls
 * @param light it only lets time go on: nothing is saved, and nobody reports
 * @param watermark how far event time has come, in milliseconds: what ends by then ends with it
 * @param clock the time on the clock, in milliseconds, for the rows behind it
 * @param published the last epoch that is known to be published, for sinks that publish before they go on
 */
public record Barrier(long number, long epoch, boolean light, long watermark, long clock, long published)
    implements Serializable {
  /** What a message of the shuffle begins with if it is a barrier. Rows begin with their size, which is no less than 0. */
  private static final int MARK = -0x4D494C4C;

  private static final int BYTES = Integer.BYTES + 1 + 5 * Long.BYTES;

  ByteBuffer bytes() {
    ByteBuffer out = ByteBuffer.allocate(BYTES);
    out.putInt(MARK).put((byte) (light ? 1 : 0));
    out.putLong(number).putLong(epoch).putLong(watermark).putLong(clock).putLong(published);
    return out.flip();
  }

  /** NULL: these are rows. */
  static Barrier read(ByteBuffer in) {
    if (in.remaining() != BYTES || in.getInt(in.position()) != MARK) {
      return null;
    }
    ByteBuffer from = in.duplicate();
    from.getInt();
    boolean light = from.get() == 1;
    long number = from.getLong();
    long epoch = from.getLong();
    return new Barrier(number, epoch, light, from.getLong(), from.getLong(), from.getLong());
  }
}
