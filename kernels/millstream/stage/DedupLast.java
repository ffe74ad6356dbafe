package millstream.stage;

import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.Iterator;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.streaming.StatefulProcessorHandle;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/**
 * Lets a row through if none of its key follows it closely in event time; that is known when time has gone on.
 *
 * <pre>
 *   a row at t is dropped for one at n:   t &lt;= n &lt;= t + within; of rows of the same time, the last by all fields is left
 *   it is let through, and forgotten:     watermark &gt; t + lateness, which is within, or longer if rows had to wait before
 *   it is too late to be judged:          then, too; or if it has no time
 *
 *   one value per key:  timer, runs [start, the last row] in the order of time
 * </pre>
 *
 * <p>In a run, each row follows another closely: whatever comes between its start and its last row, or shortly before, is dropped.
 * Payload: the row's fields, then its time in microseconds. The clock's times are in milliseconds.
 */
final class DedupLast extends Operator {
  private static final long serialVersionUID = 1L;
  private static final long NONE = Long.MAX_VALUE;

  private final StructType rowType;
  private final RowOrder order;
  private final long within;
  private final long lateness;
  private final int time;
  private transient StatefulProcessorHandle handle;
  private transient Value state;
  /** In the order of time, further apart than {@link #within}. */
  private transient List<Run> runs;

  private transient long timer;

  private record Run(long start, InternalRow last) {}

  private DedupLast(OperatorSpec spec) {
    super(spec.name(), spec.upserts());
    this.rowType = spec.input(0);
    this.time = spec.json().get("fields").asInt();
    this.order = new RowOrder(rowType, spec.json().get("order"), time);
    this.within = spec.json().get("within_ms").asLong() * 1000;
    this.lateness = spec.json().get("late_ms").asLong();
  }

  static DedupLast of(OperatorSpec spec) {
    return new DedupLast(spec);
  }

  @Override
  StructType outputType() {
    return rowType;
  }

  @Override
  void open(StatefulProcessorHandle handle) {
    this.handle = handle;
    StructType run = new StructType().add("start", DataTypes.LongType, false).add("last", rowType, false);
    StructType type =
        new StructType()
            .add("timer", DataTypes.LongType, false)
            .add("runs", DataTypes.createArrayType(run, false), false);
    state = Value.of(handle, name + "_runs", type);
  }

  @Override
  Iterator<Change> process(InternalRow key, Changes changes) {
    load();
    while (changes.next()) {
      InternalRow row = changes.payload();
      if (row.isNullAt(time) || watermark >= decided(row)) {
        late(changes.weight());
      } else {
        runs.add(new Run(at(row), row.copy()));
      }
    }
    join();
    save();
    return Collections.emptyIterator();
  }

  /** Makes one of runs that follow one another closely. */
  private void join() {
    runs.sort(Comparator.comparingLong(Run::start));
    List<Run> apart = new ArrayList<>();
    for (Run run : runs) {
      Run before = apart.isEmpty() ? null : apart.get(apart.size() - 1);
      if (before == null || run.start - at(before.last) > within) {
        apart.add(run);
      } else {
        InternalRow last = order.compare(before.last, run.last) > 0 ? before.last : run.last;
        apart.set(apart.size() - 1, new Run(before.start, last));
      }
    }
    runs = apart;
  }

  /** Time has gone on so far that nothing can follow some rows any more. */
  @Override
  Iterator<Change> expired(InternalRow key, long now) {
    load();
    if (now >= timer) {
      timer = NONE;
    }
    List<Change> out = new ArrayList<>();
    while (!runs.isEmpty() && watermark >= decided(runs.get(0).last)) {
      out.add(new Change(runs.remove(0).last, 1));
    }
    save();
    return out.iterator();
  }

  private long at(InternalRow row) {
    return row.getLong(time);
  }

  /** When a row goes out, by the clock: one that is just so much later is not late before. */
  private long decided(InternalRow row) {
    return Math.floorDiv(at(row), 1000L) + lateness + 1;
  }

  private void load() {
    runs = new ArrayList<>();
    timer = NONE;
    InternalRow saved = state.get();
    if (saved == null) {
      return;
    }
    timer = saved.getLong(0);
    ArrayData entries = saved.getArray(1);
    for (int i = 0; i < entries.numElements(); i++) {
      InternalRow entry = entries.getStruct(i, 2);
      runs.add(new Run(entry.getLong(0), entry.getStruct(1, rowType.length()).copy()));
    }
  }

  /** One timer per key is enough: it is set for the first row to go out, and again when it goes off. */
  private void save() {
    if (runs.isEmpty()) {
      state.clear();
      return;
    }
    long next = decided(runs.get(0).last);
    if (next < timer) {
      handle.registerTimer(next);
      timer = next;
    }
    Object[] entries = runs.stream().map(run -> new GenericInternalRow(new Object[] {run.start, run.last})).toArray();
    state.update(new GenericInternalRow(new Object[] {timer, new GenericArrayData(entries)}));
  }
}
