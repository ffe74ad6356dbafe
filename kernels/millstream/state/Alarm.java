package millstream.state;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.streaming.StatefulProcessorHandle;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/**
 * The one timer of a key: it rings when the first kept item has ended, and is set again for what is left.
 *
 * <p>If that end moves away in the meantime, it rings for nothing, once, which is cheaper than setting it with every
 * row.
 */
public final class Alarm {
  /** What a state that has a timer begins with. */
  public static final StructType TYPE = new StructType().add("timer", DataTypes.LongType, false);

  private final StatefulProcessorHandle handle;
  private long timer;
  /** What the state says about it. */
  private long stored;

  private long next;

  public Alarm(StatefulProcessorHandle handle) {
    this.handle = handle;
  }

  public void load(InternalRow saved) {
    timer = saved == null ? Lifetime.NEVER : saved.getLong(0);
    stored = timer;
    next = timer;
  }

  /** The time that it is set for. */
  public long time() {
    return timer;
  }

  public InternalRow save() {
    return new GenericInternalRow(new Object[] {timer});
  }

  /** It should ring at this time, if not before. */
  public void at(long time) {
    next = Math.min(next, time);
  }

  /** The same, but not before the watermark has moved on. */
  public void at(long time, long watermark) {
    at(Math.max(time, watermark + 1));
  }

  /** Whether it would ring by then, and has not been set yet. */
  public boolean due(long watermark) {
    return timer == Lifetime.NEVER && next <= watermark;
  }

  /** One of that time rings: this one, unless it is of a later time; then it is to be set for what is left. */
  public void ring(long time) {
    if (time >= timer) {
      timer = Lifetime.NEVER;
    }
    next = timer;
  }

  /** Sets the timer again if needed; says whether it did. */
  public boolean set() {
    if (next != timer) {
      clear();
      timer = next;
      if (timer != Lifetime.NEVER) {
        handle.registerTimer(timer);
      }
    }
    return timer != stored;
  }

  /** Sets the timer for this time, if it does not ring before; for the state, the time that it is set for. */
  public long set(long time) {
    at(time);
    set();
    return timer;
  }

  public void clear() {
    if (timer != Lifetime.NEVER) {
      handle.deleteTimer(timer);
    }
  }
}
