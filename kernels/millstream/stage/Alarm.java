package millstream.stage;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.streaming.StatefulProcessorHandle;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/**
 * The one timer of a key: it rings when the first of its rows has come to an end.
 *
 * <p>Rows of the epoch may still come when it rings (see {@link #ring}): then what is over is remembered, and dropped when
 * the watermark has moved once more.
 */
final class Alarm {
  static final StructType TYPE =
      new StructType().add("timer", DataTypes.LongType, false).add("over", DataTypes.LongType, false);

  private final StatefulProcessorHandle handle;
  private long timer;
  /** What the state says of it. */
  private long stored;
  private long over;
  private long next;
  private long now;

  Alarm(StatefulProcessorHandle handle) {
    this.handle = handle;
  }

  void load(InternalRow saved) {
    timer = saved == null ? Lifetime.NEVER : saved.getLong(0);
    over = saved == null ? Long.MIN_VALUE : saved.getLong(1);
    stored = timer;
    next = timer;
    now = Long.MIN_VALUE;
  }

  InternalRow save() {
    return new GenericInternalRow(new Object[] {timer, over});
  }

  /** It is to ring at this time, if not before. */
  void at(long time) {
    next = Math.min(next, time);
  }

  /**
   * It rings: up to which time rows are over.
   *
   * <p>If rows that are in time may still come, up to where the watermark was when it rang before.
   */
  long ring(long watermark, boolean moreToCome) {
    timer = Lifetime.NEVER;
    next = Lifetime.NEVER;
    now = watermark;
    return moreToCome ? over : watermark;
  }

  /** Sets the timer anew where that is needed; whether it was. */
  boolean set() {
    if (next <= now) {
      over = now;
      next = now + 1;
    }
    if (next != timer) {
      clear();
      timer = next;
      if (timer != Lifetime.NEVER) {
        handle.registerTimer(timer);
      }
    }
    return timer != stored;
  }

  void clear() {
    if (timer != Lifetime.NEVER) {
      handle.deleteTimer(timer);
    }
  }
}
