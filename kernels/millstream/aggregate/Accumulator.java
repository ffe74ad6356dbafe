package millstream.aggregate;

import java.io.Serializable;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.streaming.StatefulProcessorHandle;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;

/**
 * One running figure of an aggregate.
 *
 * <p>A router hands over each row as a small figure (its weight folded in), so that adding a row, merging two tasks'
 * figures and adding an epoch to the state are the same thing: {@link #add}.
 */
public abstract class Accumulator implements Serializable {
  private static final long serialVersionUID = 1L;

  /** Its first field in the payload, and in the state. */
  final int input;

  int saved;

  Accumulator(int input) {
    this.input = input;
  }

  /** Makes an accumulator save in the payload's form. */
  final <A extends Accumulator> A placed(A other) {
    other.saved = other.input;
    other.load(null);
    return other;
  }

  /** Appends its fields to the state's type. */
  abstract StructType state(StructType fields);

  public abstract DataType resultType();

  /** {@code step}: the operator that it belongs to. */
  void open(StatefulProcessorHandle handle, String step) {}

  /** Begins with what was saved, or with nothing. */
  abstract void load(InternalRow state);

  abstract void add(InternalRow payload, long weight);

  abstract void save(Object[] state);

  abstract Object result();

  /** Removes what it keeps outside the aggregate's own state. */
  void drop() {}

  /** One that merges payloads before the shuffle: empty, and it saves in the payload's form. */
  abstract Accumulator fresh();

  /** Whether payloads can be merged before the shuffle. */
  public boolean combines() {
    return true;
  }
}
