package millstream.stage;

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

  Aggregate(String name, boolean upserts, StructField[] keys, int[] keySlots, Accumulator[] accumulators) {
    super(name, upserts);
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
      add(accumulators, changes.payload(), changes.weight());
    }
    Object[] after = result(key);
    save();
    return changed(before, after).iterator();
  }

  private void load(InternalRow saved) {
    for (Accumulator accumulator : accumulators) {
      accumulator.load(saved);
    }
  }

  static void add(Accumulator[] figures, InternalRow payload, long weight) {
    for (Accumulator figure : figures) {
      figure.add(payload, weight);
    }
  }

  /** Figures of their own, for a key that is combined before the shuffle. */
  Accumulator[] fresh() {
    Accumulator[] figures = new Accumulator[accumulators.length];
    for (int i = 0; i < figures.length; i++) {
      figures[i] = accumulators[i].fresh();
    }
    return figures;
  }

  InternalRow saved(Accumulator[] figures) {
    Object[] values = new Object[stateType.length()];
    for (Accumulator figure : figures) {
      figure.save(values);
    }
    return new GenericInternalRow(values);
  }

  private long rows() {
    return ((Count) accumulators[0]).count();
  }

  private void save() {
    if (rows() < 0) {
      throw absent("a row");
    }
    InternalRow values = saved(accumulators);
    if (rows() == 0) {
      state.clear();
    } else {
      state.update(values);
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

  private List<Change> changed(Object[] before, Object[] after) {
    if (Arrays.deepEquals(before, after)) {
      return List.of();
    }
    return replaced(row(before), row(after));
  }

  private static InternalRow row(Object[] values) {
    return values == null ? null : new GenericInternalRow(values);
  }
}
