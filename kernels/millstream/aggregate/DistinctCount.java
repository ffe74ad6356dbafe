package millstream.aggregate;

import millstream.state.Absent;
import millstream.state.Weights;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.streaming.StatefulProcessorHandle;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;

/**
 * How many different values there are, for each of several filters: {@code [(value, w0, w1, …), …]}.
 *
 * <p>The counts are kept, and the values with their weights. For values that are never taken back, only their presence
 * is kept.
 */
final class DistinctCount extends Accumulator {
  private static final long serialVersionUID = 1L;
  /** Up to this many are rewritten for each change, which costs less than looking each one up, */
  private static final int FEW = 64;
  /** unless most are there already, and only their weights change. */
  private static final int FEW_RETRACTABLE = 16;

  private final StructType entryType;
  private final boolean retractable;
  private final int filters;
  private transient String step;
  private transient DistinctValues net;
  private transient Weights values;
  private transient long[] counts;

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
    return fields.add("values" + input, Weights.type(entryType), false);
  }

  @Override
  public DataType resultType() {
    StructType type = new StructType();
    for (int i = 0; i < filters; i++) {
      type = type.add("n" + i, "bigint", false);
    }
    return type;
  }

  @Override
  void open(StatefulProcessorHandle handle, String owner) {
    step = owner;
    values = new Weights(
        entryType, retractable ? FEW_RETRACTABLE : FEW, Weights.spill(handle, step + "_distinct" + input, entryType));
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
    return Weights.row(counts);
  }

  @Override
  void load(InternalRow state) {
    net = empty();
    counts = new long[filters];
    values.load(state == null ? null : state.getStruct(saved + filters, 2));
    if (state != null) {
      for (int i = 0; i < filters; i++) {
        counts[i] = state.getLong(saved + i);
      }
    }
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
  }

  private void apply(InternalRow value, long[] weights) {
    long[] before = values.get(value);
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
      values.replace(value, before, any ? after : null);
    }
  }

  private long sum(long before, long weight) {
    long sum = before + weight;
    if (sum < 0) {
      throw new Absent(step, "a value");
    }
    return retractable ? sum : Math.min(sum, 1);
  }

  @Override
  void drop() {
    values.clear();
  }

  @Override
  void save(Object[] state) {
    apply();
    for (int i = 0; i < filters; i++) {
      state[saved + i] = counts[i];
    }
    state[saved + filters] = values.save();
  }

  @Override
  Object result() {
    apply();
    return Weights.row(counts);
  }
}
