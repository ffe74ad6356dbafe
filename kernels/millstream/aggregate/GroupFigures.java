package millstream.aggregate;

import java.io.Serializable;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.streaming.StatefulProcessorHandle;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/** The figures of one group at a time, and the result made of its key and them. */
public final class GroupFigures implements Serializable {
  private static final long serialVersionUID = 1L;

  private final StructField[] keys;
  private final int[] keySlots;
  /** The first one counts the rows of the group: at zero, the group is gone. */
  private final Accumulator[] accumulators;
  /** Whether there is a result even without rows: that of a group by nothing. */
  private final boolean always;
  /** How many figures no result uses: if only the number of rows changes, there may be nothing to send. */
  private final int hidden;

  private final StructType stateType;

  /** {@code counted}: whether a result needs the number of rows. */
  public GroupFigures(
      StructField[] keys,
      int[] keySlots,
      List<Accumulators.Told> accumulators,
      StructType payload,
      boolean counted,
      boolean always) {
    this.keys = keys;
    this.keySlots = keySlots;
    this.accumulators = Accumulators.of(accumulators, payload);
    this.hidden = counted ? 0 : 1;
    this.always = always;
    StructType fields = new StructType();
    for (Accumulator accumulator : this.accumulators) {
      accumulator.saved = fields.length();
      fields = accumulator.state(fields);
    }
    this.stateType = fields;
  }

  /** What is kept for a group. */
  public StructType stateType() {
    return stateType;
  }

  /** The key, then the figures. */
  public StructType outputType() {
    StructType type = new StructType();
    for (int i = 0; i < keys.length; i++) {
      type = type.add("k" + i, keys[i].dataType(), true);
    }
    for (int i = 0; i < accumulators.length; i++) {
      type = type.add("a" + i, accumulators[i].resultType(), true);
    }
    return type;
  }

  Accumulator[] accumulators() {
    return accumulators;
  }

  /** The payload's field with the number of rows. */
  public int counted() {
    return accumulators[0].input;
  }

  /** Where the key's first column is. */
  public int keySlot() {
    return keySlots[0];
  }

  public boolean always() {
    return always;
  }

  public void open(StatefulProcessorHandle handle, String step) {
    for (Accumulator accumulator : accumulators) {
      accumulator.open(handle, step);
    }
  }

  /** Begins with what was saved of a group, or with nothing. */
  public void load(InternalRow saved) {
    for (Accumulator accumulator : accumulators) {
      accumulator.load(saved);
    }
  }

  public void add(InternalRow payload, long weight) {
    Aggregate.add(accumulators, payload, weight);
  }

  public long rows() {
    return ((Count) accumulators[0]).count();
  }

  /** Whether there is nothing to keep. */
  public boolean gone() {
    return rows() == 0 && !always;
  }

  public InternalRow saved() {
    return Aggregate.saved(accumulators, stateType.length());
  }

  /** Removes what figures keep elsewhere. */
  public void drop() {
    for (Accumulator accumulator : accumulators) {
      accumulator.drop();
    }
  }

  /** NULL: the group has no rows, and no result. */
  public Object[] result(InternalRow key) {
    if (rows() <= 0 && !always) {
      return null;
    }
    Object[] values = new Object[keys.length + accumulators.length];
    for (int i = 0; i < keys.length; i++) {
      values[i] = key.isNullAt(keySlots[i]) ? null : key.get(keySlots[i], keys[i].dataType());
    }
    for (int i = hidden; i < accumulators.length; i++) {
      values[keys.length + i] = accumulators[i].result();
    }
    return values;
  }
}
