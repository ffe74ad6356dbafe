package millstream.stage;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.streaming.MapState;
import org.apache.spark.sql.streaming.StatefulProcessorHandle;
import org.apache.spark.sql.streaming.TTLConfig;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/**
 * How many different values there are, for each of several filters: {@code [(value, w0, w1, …), …]}.
 *
 * <pre>
 *   n0 …   the counts, in the aggregate's value state
 *   few    the values with their weights, there too, while they are few
 *   all    the same in map state, a value at a time, once they are many
 * </pre>
 *
 * <p>Of values that are never taken back, only whether they are there is kept.
 */
final class DistinctCount extends Accumulator {
  private static final long serialVersionUID = 1L;
  /** So many are written anew for each change: less than it takes to look each one up, */
  private static final int FEW = 64;
  /** unless most are there already, and only their weights change. */
  private static final int FEW_RETRACTABLE = 16;

  private final StructType entryType;
  private final boolean retractable;
  private final int filters;
  private transient Operator owner;
  private transient MapState<InternalRow, InternalRow> all;
  private transient DistinctValues net;
  private transient DistinctValues few;
  private transient long[] counts;
  private transient boolean spilled;

  DistinctCount(int input, DataType type, boolean retractable) {
    super(input);
    this.entryType = (StructType) ((ArrayType) type).elementType();
    this.retractable = retractable;
    this.filters = entryType.length() - 1;
  }

  @Override
  StructType state(StructType fields) {
    for (int i = 0; i < filters; i++) {
      fields = fields.add("distinct" + input + "_" + i, "bigint", false);
    }
    return fields
        .add("few" + input, DataTypes.createArrayType(entryType, false), false)
        .add("spilled" + input, DataTypes.BooleanType, false);
  }

  @Override
  DataType resultType() {
    StructType type = new StructType();
    for (int i = 0; i < filters; i++) {
      type = type.add("n" + i, "bigint", false);
    }
    return type;
  }

  @Override
  void open(StatefulProcessorHandle handle, Operator operator) {
    owner = operator;
    all =
        handle.getMapState(
            operator.name + "_distinct" + input,
            new InternalRowEncoder(DistinctValues.valueType(entryType)),
            new InternalRowEncoder(DistinctValues.weightsType(entryType)),
            TTLConfig.NONE());
  }

  private DistinctValues empty() {
    if (net == null) {
      net = new DistinctValues(entryType);
    }
    return net.sibling();
  }

  @Override
  Accumulator fresh() {
    return placed(new Gathered(input, empty(), DistinctCount::counted));
  }

  private static Object counted(DistinctValues values) {
    long[] counts = new long[values.filters()];
    for (long[] weights : values.weights().values()) {
      for (int i = 0; i < counts.length; i++) {
        counts[i] += weights[i] > 0 ? 1 : 0;
      }
    }
    return row(counts);
  }

  @Override
  void load(InternalRow state) {
    net = empty();
    few = empty();
    counts = new long[filters];
    spilled = false;
    if (state == null) {
      return;
    }
    for (int i = 0; i < filters; i++) {
      counts[i] = state.getLong(saved + i);
    }
    few.add(state.getArray(saved + filters));
    spilled = state.getBoolean(saved + filters + 1);
  }

  @Override
  void add(InternalRow payload, long weight) {
    if (!payload.isNullAt(input)) {
      net.add(payload.getArray(input));
    }
  }

  private void apply() {
    net.weights().forEach(this::apply);
    net.weights().clear();
    if (!spilled && few.weights().size() > (retractable ? FEW_RETRACTABLE : FEW)) {
      spilled = true;
      few.weights().forEach(this::store);
      few.weights().clear();
    }
  }

  private void apply(InternalRow value, long[] weights) {
    long[] before = stored(value);
    long[] after = new long[filters];
    boolean any = false;
    boolean changed = false;
    for (int i = 0; i < filters; i++) {
      after[i] = sum(before == null ? 0 : before[i], weights[i]);
      changed |= after[i] != (before == null ? 0 : before[i]);
      any |= after[i] > 0;
      counts[i] += (after[i] > 0 ? 1 : 0) - (before != null && before[i] > 0 ? 1 : 0);
    }
    if (changed) {
      store(value, any ? after : null);
    }
  }

  private long sum(long before, long weight) {
    long sum = before + weight;
    if (sum < 0) {
      throw owner.absent("a value");
    }
    return retractable ? sum : Math.min(sum, 1);
  }

  private long[] stored(InternalRow value) {
    if (!spilled) {
      return few.weights().get(value);
    }
    InternalRow row = all.getValue(value);
    if (row == null) {
      return null;
    }
    long[] weights = new long[filters];
    for (int i = 0; i < filters; i++) {
      weights[i] = row.getLong(i);
    }
    return weights;
  }

  /** NULL: the value is gone. */
  private void store(InternalRow value, long[] weights) {
    if (!spilled && weights == null) {
      few.weights().remove(value);
    } else if (!spilled) {
      few.weights().put(value, weights);
    } else if (weights == null) {
      all.removeKey(value);
    } else {
      all.updateValue(value, row(weights));
    }
  }

  private static InternalRow row(long[] numbers) {
    Object[] values = new Object[numbers.length];
    for (int i = 0; i < values.length; i++) {
      values[i] = numbers[i];
    }
    return new GenericInternalRow(values);
  }

  @Override
  void drop() {
    if (spilled) {
      all.clear();
    }
  }

  @Override
  void save(Object[] state) {
    apply();
    for (int i = 0; i < filters; i++) {
      state[saved + i] = counts[i];
    }
    state[saved + filters] = few.entries();
    state[saved + filters + 1] = spilled;
  }

  @Override
  Object result() {
    apply();
    return row(counts);
  }
}
