package millstream.stage;

import java.util.ArrayList;
import java.util.Collections;
import java.util.Iterator;
import java.util.List;
import java.util.TreeSet;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.streaming.StatefulProcessorHandle;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/**
 * Lets a row through if none of its key was let through that is close to it in event time.
 *
 * <pre>
 *   a row at t is a double of one at k:   k - within &lt;= t &lt;= k + within
 *   a row is too late to be judged:       watermark &gt;= t + lateness, which is within, or longer if rows had to wait before
 *   so is one without a time
 *   k can be forgotten:                   watermark &gt;= k + within + lateness: any double of it is too late
 * </pre>
 *
 * <p>Payload: the row's fields, then its time in microseconds. The clock's times are in milliseconds.
 */
final class Dedup extends Operator {
  private static final long serialVersionUID = 1L;
  private static final long NONE = Long.MAX_VALUE;

  private final StructType rowType;
  private final RowOrder order;
  private final long within;
  private final long lateness;
  private final int time;
  private transient StatefulProcessorHandle handle;
  private transient Value state;
  private transient TreeSet<Long> times;
  private transient long timer;

  Dedup(OperatorSpec spec) {
    super(spec.name(), spec.upserts());
    this.rowType = spec.input(0);
    this.time = spec.json().get("fields").asInt();
    this.order = new RowOrder(rowType, spec.json().get("order"), time);
    this.within = spec.json().get("within_ms").asLong();
    this.lateness = spec.json().get("late_ms").asLong();
  }

  static Dedup of(OperatorSpec spec) {
    return new Dedup(spec);
  }

  @Override
  StructType outputType() {
    return rowType;
  }

  @Override
  void open(StatefulProcessorHandle handle) {
    this.handle = handle;
    StructType type =
        new StructType()
            .add("timer", DataTypes.LongType, false)
            .add("times", DataTypes.createArrayType(DataTypes.LongType, false), false);
    state = Value.of(handle, name + "_times", type);
  }

  @Override
  Iterator<Change> process(InternalRow key, Changes changes) {
    load();
    List<InternalRow> rows = new ArrayList<>();
    while (changes.next()) {
      if (changes.payload().isNullAt(time) || watermark >= millis(changes.payload().getLong(time)) + lateness) {
        late(changes.weight());
      } else {
        rows.add(changes.payload().copy());
      }
    }
    rows.sort(order);
    List<Change> out = new ArrayList<>();
    for (InternalRow row : rows) {
      if (isNew(row.getLong(time))) {
        times.add(row.getLong(time));
        out.add(new Change(row, 1));
      }
    }
    save();
    return out.iterator();
  }

  private boolean isNew(long at) {
    Long before = times.floor(at);
    Long after = times.ceiling(at);
    return (before == null || at - before > within * 1000) && (after == null || after - at > within * 1000);
  }

  @Override
  Iterator<Change> expired(InternalRow key, long at) {
    load();
    if (at >= timer) {
      timer = NONE;
    }
    times.removeIf(kept -> watermark >= forgotten(kept));
    save();
    return Collections.emptyIterator();
  }

  private static long millis(long micros) {
    return Math.floorDiv(micros, 1000L);
  }

  private long forgotten(long kept) {
    return millis(kept) + within + lateness;
  }

  private void load() {
    times = new TreeSet<>();
    timer = NONE;
    InternalRow saved = state.get();
    if (saved == null) {
      return;
    }
    timer = saved.getLong(0);
    ArrayData entries = saved.getArray(1);
    for (int i = 0; i < entries.numElements(); i++) {
      times.add(entries.getLong(i));
    }
  }

  /** One timer per key is enough: it is set for the first time to be forgotten, and again when it goes off. */
  private void save() {
    if (times.isEmpty()) {
      state.clear();
      return;
    }
    long next = forgotten(times.first());
    if (next < timer) {
      handle.registerTimer(next);
      timer = next;
    }
    state.update(new GenericInternalRow(new Object[] {timer, new GenericArrayData(times.toArray())}));
  }
}
