package millstream.state;

import java.io.Serializable;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.streaming.StatefulProcessorHandle;
import org.apache.spark.sql.types.StructType;

/**
 * What is kept for each group, in one value: until the group ends, if one of its keys says when.
 *
 * <p>In micro-batches, all rows of a group that ends with the epoch are there: it gets no timer, and is not kept.
 */
public final class GroupState implements Serializable {
  private static final long serialVersionUID = 1L;

  /** Which key column says when a group ends; negative: there is none. */
  private final int slot;
  /** How many milliseconds after that time it ends. */
  private final long after;

  private transient StatefulProcessorHandle handle;
  private transient Value state;
  private transient boolean kept;
  private transient boolean ends;

  public GroupState(int slot, long after) {
    this.slot = slot;
    this.after = after;
  }

  public void open(StatefulProcessorHandle handle, String name, StructType type) {
    this.handle = handle;
    state = new Value(handle, name, type);
  }

  /** What is kept for the group whose rows come; NULL: nothing. A new one gets its timer. */
  public InternalRow load(InternalRow key, long ended) {
    InternalRow saved = load();
    long end = slot < 0 || key.isNullAt(slot) ? Lifetime.NEVER : time(key);
    ends = end <= ended;
    if (!kept && !ends && end != Lifetime.NEVER) {
      handle.registerTimer(end);
    }
    return saved;
  }

  /** The same when its timer has rung. */
  public InternalRow load() {
    InternalRow saved = state.get();
    kept = saved != null;
    ends = true;
    return saved;
  }

  /** Whether no more rows of the group come: it need not be kept. */
  public boolean ends() {
    return ends;
  }

  /** Keeps the value, unless the group ends; NULL: there is nothing to keep. */
  public void save(InternalRow value) {
    if (value != null && !ends) {
      state.update(value);
    } else if (kept) {
      clear();
    }
  }

  public void clear() {
    state.clear();
  }

  /** Whether the group had ended by then. One without a time is of no window: none that could still be open. */
  public boolean over(InternalRow key, long watermark) {
    return key.isNullAt(slot) || time(key) <= watermark;
  }

  private long time(InternalRow key) {
    return Math.floorDiv(key.getLong(slot), 1000L) + after;
  }
}
