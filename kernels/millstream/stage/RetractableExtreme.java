package millstream.stage;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.streaming.MapState;
import org.apache.spark.sql.streaming.StatefulProcessorHandle;
import org.apache.spark.sql.streaming.TTLConfig;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/**
 * The least or greatest value of rows that may be taken back: {@code value T}.
 *
 * <pre>
 *   head   the best values with their counts, sorted, in the aggregate's value state
 *   all    every value with its count, in map state: used once there are more than fit the head,
 *          read only when the head runs empty
 * </pre>
 */
final class RetractableExtreme extends Accumulator {
  private static final long serialVersionUID = 1L;
  private static final int HEAD = 16;

  private final DataType type;
  private final boolean greatest;
  private transient Operator owner;
  private transient MapState<InternalRow, InternalRow> all;
  private transient Comparator<Object> order;
  private transient TreeMap<Object, Long> head;
  private transient TreeMap<Object, Long> net;
  private transient boolean complete;

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
  DataType resultType() {
    return type;
  }

  @Override
  boolean combines() {
    return false;
  }

  @Override
  void open(StatefulProcessorHandle handle, Operator operator) {
    owner = operator;
    order = Extreme.order(type, greatest);
    StructType value = new StructType().add("value", type, false);
    all =
        handle.getMapState(
            operator.name + "_values" + input,
            new InternalRowEncoder(value),
            new InternalRowEncoder(Bag.weightType()),
            TTLConfig.NONE());
  }

  @Override
  Accumulator fresh() {
    throw new UnsupportedOperationException("values that may be taken back are not combined");
  }

  @Override
  void load(InternalRow state) {
    head = new TreeMap<>(order);
    net = new TreeMap<>(order);
    complete = state == null || state.getBoolean(saved + 1);
    if (state == null) {
      return;
    }
    ArrayData entries = state.getArray(saved);
    for (int i = 0; i < entries.numElements(); i++) {
      InternalRow entry = entries.getStruct(i, 2);
      head.put(entry.get(0, type), entry.getLong(1));
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
    for (Map.Entry<Object, Long> change : net.entrySet()) {
      if (change.getValue() != 0) {
        apply(change.getKey(), change.getValue());
      }
    }
    net.clear();
    if (head.isEmpty() && !complete) {
      refill();
    }
  }

  private void apply(Object value, long weight) {
    if (complete) {
      put(head, value, sum(head.get(value), weight));
      if (head.size() > HEAD) {
        spill();
      }
      return;
    }
    InternalRow key = new GenericInternalRow(new Object[] {value});
    InternalRow before = all.getValue(key);
    long count = sum(before == null ? null : before.getLong(0), weight);
    if (count == 0) {
      all.removeKey(key);
    } else {
      all.updateValue(key, new GenericInternalRow(new Object[] {count}));
    }
    if (!head.isEmpty() && order.compare(value, head.lastKey()) <= 0) {
      put(head, value, count);
      if (head.size() > HEAD) {
        head.pollLastEntry();
      }
    }
  }

  private long sum(Long before, long weight) {
    long count = (before == null ? 0 : before) + weight;
    if (count < 0) {
      throw owner.absent("a value");
    }
    return count;
  }

  private static void put(TreeMap<Object, Long> values, Object value, long count) {
    if (count == 0) {
      values.remove(value);
    } else {
      values.put(value, count);
    }
  }

  private void spill() {
    for (Map.Entry<Object, Long> entry : head.entrySet()) {
      all.updateValue(
          new GenericInternalRow(new Object[] {entry.getKey()}),
          new GenericInternalRow(new Object[] {entry.getValue()}));
    }
    complete = false;
    while (head.size() > HEAD / 2) {
      head.pollLastEntry();
    }
  }

  /** Reads all values for the best few; if those are all, map state is no longer needed. */
  private void refill() {
    long values = 0;
    scala.collection.Iterator<scala.Tuple2<InternalRow, InternalRow>> entries = all.iterator();
    while (entries.hasNext()) {
      scala.Tuple2<InternalRow, InternalRow> entry = entries.next();
      values++;
      head.put(InternalRow.copyValue(entry._1().get(0, type)), entry._2().getLong(0));
      if (head.size() > HEAD) {
        head.pollLastEntry();
      }
    }
    if (values == head.size()) {
      all.clear();
      complete = true;
    }
  }

  @Override
  void drop() {
    if (!complete) {
      all.clear();
    }
  }

  @Override
  void save(Object[] state) {
    apply();
    List<Object> entries = new ArrayList<>();
    head.forEach((value, count) -> entries.add(new GenericInternalRow(new Object[] {value, count})));
    state[saved] = new GenericArrayData(entries.toArray());
    state[saved + 1] = complete;
  }

  @Override
  Object result() {
    apply();
    return head.isEmpty() ? null : head.firstKey();
  }
}
