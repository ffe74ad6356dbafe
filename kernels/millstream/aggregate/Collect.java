package millstream.aggregate;

import java.util.ArrayList;
import java.util.Collections;
import java.util.Iterator;
import java.util.List;
import millstream.state.Bag;
import millstream.state.Held;
import millstream.state.Weights;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.streaming.StatefulProcessorHandle;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/** All values, sorted, each as often as it is there: {@code [(value, w), …]}. */
final class Collect extends Accumulator {
  private static final long serialVersionUID = 1L;

  private final StructType entryType;
  private transient Bag kept;
  private transient DistinctValues net;

  Collect(int input, DataType type) {
    super(input);
    this.entryType = (StructType) ((ArrayType) type).elementType();
  }

  private StructType rowType() {
    return Weights.valueType(entryType);
  }

  private DataType type() {
    return rowType().fields()[0].dataType();
  }

  @Override
  StructType state(StructType fields) {
    return fields.add("values" + input, Bag.type(rowType()), false);
  }

  @Override
  public DataType resultType() {
    return DataTypes.createArrayType(type(), false);
  }

  @Override
  void open(StatefulProcessorHandle handle, String step) {
    kept = new Bag(step, rowType(), Bag.spill(handle, step + "_collected" + input, rowType()));
  }

  private DistinctValues empty() {
    if (net == null) {
      net = new DistinctValues(entryType);
    }
    return net.sibling();
  }

  @Override
  Accumulator fresh() {
    return placed(new Gathered(input, empty(), this::gathered));
  }

  @Override
  void load(InternalRow state) {
    kept.load(state == null ? null : state.getStruct(saved, 2));
    net = empty();
  }

  /** Collects the net change per value first: the shuffle may have put a retraction before its row. */
  @Override
  void add(InternalRow payload, long weight) {
    if (!payload.isNullAt(input)) {
      net.add(payload.getArray(input));
    }
  }

  private void apply() {
    net.weights().forEach((value, weights) -> {
      if (weights[0] != 0) {
        kept.add(value, weights[0]);
      }
    });
    net.weights().clear();
  }

  @Override
  void save(Object[] state) {
    apply();
    state[saved] = kept.save();
  }

  @Override
  Object result() {
    apply();
    List<Object> all = new ArrayList<>();
    Iterator<Held> each = kept.iterator();
    while (each.hasNext()) {
      Held entry = each.next();
      all.addAll(copies(entry.row, entry.weight));
    }
    return sorted(all);
  }

  private Object gathered(DistinctValues values) {
    List<Object> all = new ArrayList<>();
    values.weights().forEach((value, weights) -> all.addAll(copies(value, weights[0])));
    return sorted(all);
  }

  private List<Object> copies(InternalRow row, long weight) {
    return Collections.nCopies((int) Math.max(0, weight), InternalRow.copyValue(row.get(0, type())));
  }

  private Object sorted(List<Object> all) {
    all.sort(Extreme.order(type(), false));
    return new GenericArrayData(all.toArray());
  }

  @Override
  void drop() {
    kept.clear();
  }
}
