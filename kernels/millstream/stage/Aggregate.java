package millstream.stage;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.streaming.StatefulProcessorHandle;
import org.apache.spark.sql.streaming.TTLConfig;
import org.apache.spark.sql.streaming.ValueState;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/** Groups rows by key and keeps figures of each group; a changed result takes back the one before. */
final class Aggregate extends Operator {
  private static final long serialVersionUID = 1L;

  private final StructField[] keys;
  private final int[] keySlots;
  /** The first one counts the rows of the group: at zero, the group is gone. */
  private final Accumulator[] accumulators;

  private final StructType stateType;
  private transient ValueState<InternalRow> state;

  Aggregate(String name, StructField[] keys, int[] keySlots, Accumulator[] accumulators) {
    super(name);
    this.keys = keys;
    this.keySlots = keySlots;
    this.accumulators = accumulators;
    StructType fields = new StructType();
    for (Accumulator accumulator : accumulators) {
      accumulator.saved = fields.length();
      fields = accumulator.state(fields);
    }
    this.stateType = fields;
  }

  @Override
  StructType outputType() {
    StructType type = new StructType();
    for (int i = 0; i < keys.length; i++) {
      type = type.add("k" + i, keys[i].dataType(), true);
    }
    for (int i = 0; i < accumulators.length; i++) {
      type = type.add("a" + i, accumulators[i].resultType(), true);
    }
    return type;
  }

  @Override
  void open(StatefulProcessorHandle handle) {
    state = handle.getValueState(name + "_group", new InternalRowEncoder(stateType), TTLConfig.NONE());
    for (Accumulator accumulator : accumulators) {
      accumulator.open(handle, this);
    }
  }

  @Override
  boolean combines() {
    return Arrays.stream(accumulators).allMatch(Accumulator::combines);
  }

  @Override
  Iterator<Change> process(InternalRow key, Changes changes) {
    load(state.get());
    Object[] before = result(key);
    while (changes.next()) {
      add(changes.payload(), changes.weight());
    }
    Object[] after = result(key);
    save();
    return changed(before, after).iterator();
  }

  void load(InternalRow saved) {
    for (Accumulator accumulator : accumulators) {
      accumulator.load(saved);
    }
  }

  void add(InternalRow payload, long weight) {
    for (Accumulator accumulator : accumulators) {
      accumulator.add(payload, weight);
    }
  }

  Object[] figures() {
    Object[] values = new Object[stateType.length()];
    for (Accumulator accumulator : accumulators) {
      accumulator.save(values);
    }
    return values;
  }

  private long rows() {
    return ((Accumulator.Count) accumulators[0]).count();
  }

  private void save() {
    if (rows() < 0) {
      throw absent("a row");
    }
    Object[] values = figures();
    if (rows() == 0) {
      state.clear();
    } else {
      state.update(new GenericInternalRow(values));
    }
  }

  private Object[] result(InternalRow key) {
    if (rows() <= 0) {
      return null;
    }
    Object[] values = new Object[keys.length + accumulators.length];
    for (int i = 0; i < keys.length; i++) {
      values[i] = key.isNullAt(keySlots[i]) ? null : key.get(keySlots[i], keys[i].dataType());
    }
    for (int i = 0; i < accumulators.length; i++) {
      values[keys.length + i] = accumulators[i].result();
    }
    return values;
  }

  private static List<Change> changed(Object[] before, Object[] after) {
    List<Change> out = new ArrayList<>(2);
    if (Arrays.deepEquals(before, after)) {
      return out;
    }
    if (before != null) {
      out.add(new Change(new GenericInternalRow(before), -1));
    }
    if (after != null) {
      out.add(new Change(new GenericInternalRow(after), 1));
    }
    return out;
  }
}
