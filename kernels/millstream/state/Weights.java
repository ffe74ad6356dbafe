package millstream.state;

import java.util.Collection;
import java.util.HashMap;
import java.util.Map;
import java.util.Map.Entry;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.streaming.MapState;
import org.apache.spark.sql.streaming.StatefulProcessorHandle;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/** The different values of one key, each with several weights: {@code (value, w0, w1, …)}. */
public final class Weights extends SpillingEach<Entry<InternalRow, long[]>> {
  private final int weights;
  private final int width;
  private Map<InternalRow, long[]> few = new HashMap<>();

  /** {@code most}: how many stay in value state. */
  public Weights(StructType entryType, int most, MapState<InternalRow, InternalRow> spill) {
    super(spill, entryType.length(), most);
    this.weights = entryType.length() - 1;
    this.width = valueType(entryType).length();
  }

  /** What they take up in the operator's value state. */
  public static StructType type(StructType entryType) {
    return type("values", entryType);
  }

  /** The map state for many values. */
  public static MapState<InternalRow, InternalRow> spill(
      StatefulProcessorHandle handle, String name, StructType entryType) {
    StructType weights = new StructType();
    for (int i = 1; i < entryType.length(); i++) {
      weights = weights.add("w" + (i - 1), DataTypes.LongType, false);
    }
    return StoredMap.of(handle, name, valueType(entryType), weights);
  }

  public static StructType valueType(StructType entryType) {
    return (StructType) entryType.fields()[0].dataType();
  }

  /** A value with its weights, in one row. */
  public static InternalRow entry(InternalRow value, long[] weights) {
    Object[] values = new Object[weights.length + 1];
    values[0] = value;
    for (int i = 0; i < weights.length; i++) {
      values[i + 1] = weights[i];
    }
    return new GenericInternalRow(values);
  }

  public static InternalRow row(long[] numbers) {
    Object[] values = new Object[numbers.length];
    for (int i = 0; i < values.length; i++) {
      values[i] = numbers[i];
    }
    return new GenericInternalRow(values);
  }

  private long[] numbers(InternalRow row, int from) {
    long[] numbers = new long[weights];
    for (int i = 0; i < numbers.length; i++) {
      numbers[i] = row.getLong(from + i);
    }
    return numbers;
  }

  @Override
  Collection<Entry<InternalRow, long[]>> few() {
    return few.entrySet();
  }

  /** A new map: clearing one that was large takes as long as if it still were. */
  @Override
  void forgetFew() {
    few = new HashMap<>();
  }

  @Override
  void keep(Entry<InternalRow, long[]> entry) {
    few.put(entry.getKey(), entry.getValue());
  }

  @Override
  InternalRow key(Entry<InternalRow, long[]> entry) {
    return entry.getKey();
  }

  @Override
  InternalRow value(Entry<InternalRow, long[]> entry) {
    return row(entry.getValue());
  }

  @Override
  Entry<InternalRow, long[]> entry(InternalRow value, InternalRow row) {
    return Map.entry(value.copy(), numbers(row, 0));
  }

  @Override
  Entry<InternalRow, long[]> loaded(InternalRow saved) {
    return Map.entry(saved.getStruct(0, width), numbers(saved, 1));
  }

  @Override
  InternalRow saved(Entry<InternalRow, long[]> entry) {
    return entry(entry.getKey(), entry.getValue());
  }

  /** NULL: the value is not there. */
  public long[] get(InternalRow value) {
    if (spilled == 0) {
      return few.get(value);
    }
    InternalRow row = spill.getValue(value);
    return row == null ? null : numbers(row, 0);
  }

  /** Changes the weights of a value, the caller's own copy; NULL: it is not there, before or after. */
  public void replace(InternalRow value, long[] before, long[] after) {
    dirty = true;
    if (spilled == 0) {
      if (after == null) {
        few.remove(value);
      } else {
        few.put(value, after);
      }
      return;
    }
    if (after == null) {
      spill.removeKey(value);
    } else {
      spill.updateValue(value, row(after));
    }
    spilled += (after == null ? 0 : 1) - (before == null ? 0 : 1);
  }

  /** Many may come in an epoch: they are moved when it ends, if they are still needed then. */
  @Override
  public InternalRow save() {
    spillIfMany();
    return super.save();
  }
}
