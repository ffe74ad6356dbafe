package millstream.stage;

import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.streaming.MapState;
import org.apache.spark.sql.streaming.StatefulProcessorHandle;
import org.apache.spark.sql.streaming.TTLConfig;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/**
 * The rows of one side of one key, each with its weight.
 *
 * <pre>
 *   few rows:   in the operator's value state, read and written in one go
 *   many rows:  each under its own key in map state, never all in memory
 * </pre>
 */
final class Bag {
  /** More rows than this are moved to map state: rewriting them all for each new one would cost more. */
  private static final int INLINE = 16;

  private final Operator owner;
  private final int width;
  private final MapState<InternalRow, InternalRow> spill;
  private final List<InternalRow> rows = new ArrayList<>();
  private final List<Long> weights = new ArrayList<>();
  private long spilled;
  private boolean dirty;

  Bag(Operator owner, StructType rowType, MapState<InternalRow, InternalRow> spill) {
    this.owner = owner;
    this.width = rowType.length();
    this.spill = spill;
  }

  /** What the bag takes up in the operator's value state. */
  static StructType type(StructType rowType) {
    StructType entry = weightType().add("row", rowType, false);
    return new StructType()
        .add("spilled", DataTypes.LongType, false)
        .add("rows", DataTypes.createArrayType(entry, false), false);
  }

  static StructType weightType() {
    return new StructType().add("w", DataTypes.LongType, false);
  }

  /** The map state for bags that grow large. */
  static MapState<InternalRow, InternalRow> spill(StatefulProcessorHandle handle, String name, StructType rowType) {
    return handle.getMapState(
        name, new InternalRowEncoder(rowType), new InternalRowEncoder(weightType()), TTLConfig.NONE());
  }

  void load(InternalRow state) {
    rows.clear();
    weights.clear();
    spilled = 0;
    dirty = false;
    if (state == null) {
      return;
    }
    spilled = state.getLong(0);
    ArrayData entries = state.getArray(1);
    for (int i = 0; i < entries.numElements(); i++) {
      InternalRow entry = entries.getStruct(i, 2);
      weights.add(entry.getLong(0));
      rows.add(entry.getStruct(1, width));
    }
  }

  InternalRow save() {
    Object[] entries = new Object[rows.size()];
    for (int i = 0; i < entries.length; i++) {
      entries[i] = new GenericInternalRow(new Object[] {weights.get(i), rows.get(i)});
    }
    return new GenericInternalRow(new Object[] {spilled, new GenericArrayData(entries)});
  }

  boolean dirty() {
    return dirty;
  }

  boolean isEmpty() {
    return spilled == 0 && rows.isEmpty();
  }

  /** Forgets all rows. */
  void clear() {
    if (spilled > 0) {
      spill.clear();
    }
    load(null);
  }

  /** Adds a weight to a row; at zero the row is gone. The row must be the caller's own copy. */
  void add(InternalRow row, long weight) {
    if (spilled > 0) {
      addSpilled(row, weight);
    } else {
      addInline(row, weight);
    }
  }

  private void addInline(InternalRow row, long weight) {
    dirty = true;
    int at = rows.indexOf(row);
    long sum = checked((at < 0 ? 0 : weights.get(at)) + weight);
    if (at >= 0 && sum == 0) {
      rows.remove(at);
      weights.remove(at);
    } else if (at >= 0) {
      weights.set(at, sum);
    } else {
      rows.add(row);
      weights.add(sum);
      spillIfMany();
    }
  }

  private void spillIfMany() {
    if (rows.size() <= INLINE) {
      return;
    }
    for (int i = 0; i < rows.size(); i++) {
      spill.updateValue(rows.get(i), new GenericInternalRow(new Object[] {weights.get(i)}));
    }
    spilled = rows.size();
    rows.clear();
    weights.clear();
  }

  private void addSpilled(InternalRow row, long weight) {
    InternalRow before = spill.getValue(row);
    long sum = checked((before == null ? 0 : before.getLong(0)) + weight);
    if (sum == 0) {
      spill.removeKey(row);
    } else {
      spill.updateValue(row, new GenericInternalRow(new Object[] {sum}));
    }
    long change = (sum == 0 ? 0 : 1) - (before == null ? 0 : 1);
    if (change != 0) {
      spilled += change;
      dirty = true;
    }
  }

  private long checked(long weight) {
    if (weight < 0) {
      throw owner.absent("a row");
    }
    return weight;
  }

  /** The rows, one by one; those in map state are read as they are asked for. */
  Iterator<Change> iterator() {
    return spilled > 0 ? new SpilledRows(spill.iterator()) : new InlineRows();
  }

  private final class InlineRows implements Iterator<Change> {
    private int next;

    @Override
    public boolean hasNext() {
      return next < rows.size();
    }

    @Override
    public Change next() {
      Change change = new Change(rows.get(next), weights.get(next));
      next++;
      return change;
    }
  }

  private record SpilledRows(scala.collection.Iterator<scala.Tuple2<InternalRow, InternalRow>> entries)
      implements Iterator<Change> {
    @Override
    public boolean hasNext() {
      return entries.hasNext();
    }

    @Override
    public Change next() {
      scala.Tuple2<InternalRow, InternalRow> entry = entries.next();
      return new Change(entry._1().copy(), entry._2().getLong(0));
    }

  }
}
