package millstream.state;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.streaming.MapState;
import org.apache.spark.sql.streaming.StatefulProcessorHandle;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/** The rows of one side of one key, each with its weight and, if they are counted, its partners. */
public final class Bag extends SpillingEach<Held> implements Side {
  private final String step;
  private final int width;
  private final boolean counted;
  private final List<Held> few = new ArrayList<>();

  public Bag(String step, StructType rowType, MapState<InternalRow, InternalRow> spill) {
    this(step, rowType, false, spill);
  }

  public Bag(String step, StructType rowType, boolean counted, MapState<InternalRow, InternalRow> spill) {
    super(spill, counted ? 3 : 2, INLINE);
    this.step = step;
    this.width = rowType.length();
    this.counted = counted;
  }

  /** What the bag takes up in the operator's value state. */
  public static StructType type(StructType rowType) {
    return type(rowType, false);
  }

  public static StructType type(StructType rowType, boolean counted) {
    return type("rows", figures(counted).add("row", rowType, false));
  }

  public static StructType weightType() {
    return new StructType().add("w", DataTypes.LongType, false);
  }

  private static StructType figures(boolean counted) {
    return counted ? weightType().add("n", DataTypes.LongType, false) : weightType();
  }

  /** The map state for bags that grow large. */
  public static MapState<InternalRow, InternalRow> spill(
      StatefulProcessorHandle handle, String name, StructType rowType) {
    return spill(handle, name, rowType, false);
  }

  public static MapState<InternalRow, InternalRow> spill(
      StatefulProcessorHandle handle, String name, StructType rowType, boolean counted) {
    return StoredMap.of(handle, name, rowType, figures(counted));
  }

  @Override
  Collection<Held> few() {
    return few;
  }

  @Override
  InternalRow key(Held held) {
    return held.row;
  }

  @Override
  InternalRow value(Held held) {
    return figures(held.weight, held.partners);
  }

  @Override
  Held entry(InternalRow row, InternalRow figures) {
    return new Held(row.copy(), figures.getLong(0), counted ? figures.getLong(1) : 0);
  }

  @Override
  Held loaded(InternalRow saved) {
    int at = counted ? 2 : 1;
    return new Held(saved.getStruct(at, width), saved.getLong(0), counted ? saved.getLong(1) : 0);
  }

  @Override
  InternalRow saved(Held held) {
    return new GenericInternalRow(
        counted ? new Object[] {held.weight, held.partners, held.row} : new Object[] {held.weight, held.row});
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
    long sum = checked((at < 0 ? 0 : few.get(at).weight) + weight);
    if (at >= 0 && sum == 0) {
      few.remove(at);
    } else if (at >= 0) {
      few.get(at).weight = sum;
    } else {
      few.add(new Held(row, sum, 0));
      spillIfMany();
    }
  }

  private int find(InternalRow row) {
    for (int i = 0; i < few.size(); i++) {
      if (few.get(i).row.equals(row)) {
        return i;
      }
    }
    return -1;
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
      throw new Absent(step, "a row");
    }
    return weight;
  }

  /** A row that must be there. */
  public Held get(InternalRow row) {
    if (spilled > 0) {
      InternalRow found = spill.getValue(row);
      if (found != null) {
        return new Held(row, found.getLong(0), counted ? found.getLong(1) : 0);
      }
    } else {
      int at = find(row);
      if (at >= 0) {
        return few.get(at);
      }
    }
    throw new Absent(step, "a row");
  }

  /** Sets how many rows of the other side a row has met; it was got from this bag. */
  public void met(Held held, long partners) {
    held.partners = partners;
    if (spilled > 0) {
      spill.updateValue(held.row, figures(held.weight, partners));
    } else {
      dirty = true;
    }
  }
}
