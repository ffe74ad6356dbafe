package millstream.aggregate;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.TreeMap;
import millstream.state.Absent;
import millstream.state.Bag;
import millstream.state.Ranked;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.streaming.MapState;
import org.apache.spark.sql.streaming.StatefulProcessorHandle;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/** The least or greatest value of rows that may be taken back: {@code value T}. */
final class RetractableExtreme extends Accumulator {
  private static final long serialVersionUID = 1L;
  private static final int HEAD = 16;

  private final DataType type;
  private final boolean greatest;
  private transient Ranked<Object> values;
  private transient TreeMap<Object, Long> net;

  RetractableExtreme(int input, DataType type, boolean greatest) {
    super(input);
    this.type = type;
    this.greatest = greatest;
  }

  @Override
  StructType state(StructType fields) {
    StructType entry = new StructType().add("value", type, false).add("n", DataTypes.LongType, false);
    return fields
        .add("head" + input, DataTypes.createArrayType(entry, false), false)
        .add("complete" + input, DataTypes.BooleanType, false);
  }

  @Override
  public DataType resultType() {
    return type;
  }

  @Override
  public boolean combines() {
    return false;
  }

  @Override
  void open(StatefulProcessorHandle handle, String step) {
    Comparator<Object> order = Extreme.order(type, greatest);
    StructType value = new StructType().add("value", type, false);
    MapState<InternalRow, InternalRow> all = Bag.spill(handle, step + "_values" + input, value);
    values = new Ranked<>(
        order,
        1,
        HEAD,
        all,
        one -> new GenericInternalRow(new Object[] {one}),
        row -> InternalRow.copyValue(row.get(0, type)),
        () -> new Absent(step, "a value"));
    net = new TreeMap<>(order);
  }

  @Override
  Accumulator fresh() {
    throw new UnsupportedOperationException("values that may be taken back are not combined");
  }

  @Override
  void load(InternalRow state) {
    net.clear();
    values.load(state == null || state.getBoolean(saved + 1));
    if (state == null) {
      return;
    }
    ArrayData entries = state.getArray(saved);
    for (int i = 0; i < entries.numElements(); i++) {
      InternalRow entry = entries.getStruct(i, 2);
      values.put(entry.get(0, type), entry.getLong(1));
    }
  }

  /** Collects the net change per value first: the shuffle may have put a retraction before its row. */
  @Override
  void add(InternalRow payload, long weight) {
    if (!payload.isNullAt(input)) {
      net.merge(InternalRow.copyValue(payload.get(input, type)), weight, Long::sum);
    }
  }

  private void apply() {
    values.apply(net);
    net.clear();
  }

  @Override
  void drop() {
    values.drop();
  }

  @Override
  void save(Object[] state) {
    apply();
    List<Object> entries = new ArrayList<>();
    values.head().forEach((value, count) -> entries.add(new GenericInternalRow(new Object[] {value, count})));
    state[saved] = new GenericArrayData(entries.toArray());
    state[saved + 1] = values.complete();
  }

  @Override
  Object result() {
    apply();
    return values.head().isEmpty() ? null : values.head().firstKey();
  }
}
