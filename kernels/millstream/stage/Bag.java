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
 * The rows of one side of one key, each with its weight and, if they are counted, its partners.
 *
 * <pre>
 *   few rows:   in the operator's value state, read and written in one go
 *   many rows:  each under its own key in map state, never all in memory
 * </pre>
 */
final class Bag implements Side {
  /** More rows than this are moved to map state: rewriting them all for each new one would cost more. */
  private static final int INLINE = 16;

  private final Operator owner;
  private final int width;
  private final boolean counted;
  private final MapState<InternalRow, InternalRow> spill;
  private final List<Held> rows = new ArrayList<>();
  private long spilled;
  private boolean dirty;

  Bag(Operator owner, StructType rowType, MapState<InternalRow, InternalRow> spill) {
    this(owner, rowType, false, spill);
  }

  Bag(Operator owner, StructType rowType, boolean counted, MapState<InternalRow, InternalRow> spill) {
    this.owner = owner;
    this.width = rowType.length();
    this.counted = counted;
    this.spill = spill;
  }

  /** What the bag takes up in the operator's value state. */
  static StructType type(StructType rowType) {
    return type(rowType, false);
  }

  static StructType type(StructType rowType, boolean counted) {
    StructType entry = figures(counted).add("row", rowType, false);
    return new StructType()
        .add("spilled", DataTypes.LongType, false)
        .add("rows", DataTypes.createArrayType(entry, false), false);
  }

  static StructType weightType() {
    return new StructType().add("w", DataTypes.LongType, false);
  }

  private static StructType figures(boolean counted) {
    return counted ? weightType().add("n", DataTypes.LongType, false) : weightType();
  }

  /** The map state for bags that grow large. */
  static MapState<InternalRow, InternalRow> spill(StatefulProcessorHandle handle, String name, StructType rowType) {
    return spill(handle, name, rowType, false);
  }

  static MapState<InternalRow, InternalRow> spill(
      StatefulProcessorHandle handle, String name, StructType rowType, boolean counted) {
    return handle.getMapState(
        name, new InternalRowEncoder(rowType), new InternalRowEncoder(figures(counted)), TTLConfig.NONE());
  }

  @Override
  public void load(InternalRow state) {
    rows.clear();
    spilled = 0;
    dirty = false;
    if (state == null) {
      return;
    }
    spilled = state.getLong(0);
    ArrayData entries = state.getArray(1);
    int at = counted ? 2 : 1;
    for (int i = 0; i < entries.numElements(); i++) {
      InternalRow entry = entries.getStruct(i, at + 1);
      rows.add(new Held(entry.getStruct(at, width), entry.getLong(0), counted ? entry.getLong(1) : 0));
    }
  }

  @Override
  public InternalRow save() {
    Object[] entries = new Object[rows.size()];
    for (int i = 0; i < entries.length; i++) {
      Held held = rows.get(i);
      entries[i] =
          new GenericInternalRow(
              counted
                  ? new Object[] {held.weight, held.partners, held.row}
                  : new Object[] {held.weight, held.row});
    }
    return new GenericInternalRow(new Object[] {spilled, new GenericArrayData(entries)});
  }

  @Override
  public boolean dirty() {
    return dirty;
  }

  @Override
  public boolean isEmpty() {
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
  @Override
  public void add(InternalRow row, long weight) {
    if (spilled > 0) {
      addSpilled(row, weight);
    } else {
      addInline(row, weight);
    }
  }

  private void addInline(InternalRow row, long weight) {
    dirty = true;
    int at = find(row);
    long sum = checked((at < 0 ? 0 : rows.get(at).weight) + weight);
    if (at >= 0 && sum == 0) {
      rows.remove(at);
    } else if (at >= 0) {
      rows.get(at).weight = sum;
    } else {
      rows.add(new Held(row, sum, 0));
      spillIfMany();
    }
  }

  private int find(InternalRow row) {
    for (int i = 0; i < rows.size(); i++) {
      if (rows.get(i).row.equals(row)) {
        return i;
      }
    }
    return -1;
  }

  private void spillIfMany() {
    if (rows.size() <= INLINE) {
      return;
    }
    for (Held held : rows) {
      spill.updateValue(held.row, figures(held.weight, held.partners));
    }
    spilled = rows.size();
    rows.clear();
  }

  private void addSpilled(InternalRow row, long weight) {
    InternalRow before = spill.getValue(row);
    long sum = checked((before == null ? 0 : before.getLong(0)) + weight);
    if (sum == 0) {
      spill.removeKey(row);
    } else {
      spill.updateValue(row, figures(sum, before == null || !counted ? 0 : before.getLong(1)));
    }
    long change = (sum == 0 ? 0 : 1) - (before == null ? 0 : 1);
    if (change != 0) {
      spilled += change;
      dirty = true;
    }
  }

  private InternalRow figures(long weight, long partners) {
    return new GenericInternalRow(counted ? new Object[] {weight, partners} : new Object[] {weight});
  }

  private long checked(long weight) {
    if (weight < 0) {
      throw owner.absent("a row");
    }
    return weight;
  }

  /** A row that must be there. */
  Held get(InternalRow row) {
    if (spilled > 0) {
      InternalRow found = spill.getValue(row);
      if (found != null) {
        return new Held(row, found.getLong(0), counted ? found.getLong(1) : 0);
      }
    } else {
      int at = find(row);
      if (at >= 0) {
        return rows.get(at);
      }
    }
    throw owner.absent("a row");
  }

  /** Sets how many rows of the other side a row has met; it was got from this bag. */
  void met(Held held, long partners) {
    held.partners = partners;
    if (spilled > 0) {
      spill.updateValue(held.row, figures(held.weight, partners));
    } else {
      dirty = true;
    }
  }

  /** The rows, one by one; those in map state are read as they are asked for. */
  @Override
  public Iterator<Held> iterator() {
    return spilled > 0 ? new SpilledRows(spill.iterator()) : new InlineRows(rows.iterator());
  }

  private final class InlineRows implements Iterator<Held> {
    private final Iterator<Held> held;

    InlineRows(Iterator<Held> held) {
      this.held = held;
    }

    @Override
    public boolean hasNext() {
      return held.hasNext();
    }

    @Override
    public Held next() {
      return held.next();
    }

    @Override
    public void remove() {
      held.remove();
      dirty = true;
    }
  }

  private final class SpilledRows implements Iterator<Held> {
    private final scala.collection.Iterator<scala.Tuple2<InternalRow, InternalRow>> entries;
    private InternalRow last;

    SpilledRows(scala.collection.Iterator<scala.Tuple2<InternalRow, InternalRow>> entries) {
      this.entries = entries;
    }

    @Override
    public boolean hasNext() {
      return entries.hasNext();
    }

    @Override
    public Held next() {
      scala.Tuple2<InternalRow, InternalRow> entry = entries.next();
      InternalRow figures = entry._2();
      last = entry._1().copy();
      return new Held(last, figures.getLong(0), counted ? figures.getLong(1) : 0);
    }

    @Override
    public void remove() {
      spill.removeKey(last);
      spilled--;
      dirty = true;
    }
  }
}
