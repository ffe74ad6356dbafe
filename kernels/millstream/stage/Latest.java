package millstream.stage;

import java.util.Iterator;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.streaming.StatefulProcessorHandle;
import org.apache.spark.sql.types.StructType;

/**
 * Turns upserts and deletes by key into changes: keeps the latest row of the key, takes back the one before.
 *
 * <p>Payload: {@code row} (NULL deletes) and {@code order}, the place in the log: the shuffle may mix up the rows
 * of an epoch, and only the last of them counts.
 */
final class Latest extends Operator {
  private static final long serialVersionUID = 1L;

  private final StructType rowType;
  private transient Value current;

  Latest(String name, boolean upserts, StructType payload) {
    super(name, upserts);
    this.rowType = (StructType) payload.fields()[payload.fieldIndex("row")].dataType();
  }

  static Latest of(OperatorSpec spec) {
    return new Latest(spec.name(), spec.upserts(), spec.input(0));
  }

  @Override
  StructType outputType() {
    return rowType;
  }

  @Override
  void open(StatefulProcessorHandle handle) {
    StructType state = new StructType().add("row", rowType, false);
    current = new Value(handle, name + "_row", state);
  }

  @Override
  Iterator<Change> process(InternalRow key, Changes changes) {
    InternalRow last = null;
    long order = Long.MIN_VALUE;
    while (changes.next()) {
      InternalRow payload = changes.payload();
      if (payload.getLong(1) >= order) {
        order = payload.getLong(1);
        last = payload.isNullAt(0) ? null : payload.getStruct(0, rowType.length()).copy();
      }
    }
    return keep(last).iterator();
  }

  private List<Change> keep(InternalRow last) {
    InternalRow state = current.get();
    InternalRow before = state == null ? null : state.getStruct(0, rowType.length()).copy();
    if (before != null && before.equals(last)) {
      return List.of();
    }
    if (last == null) {
      current.clear();
    } else {
      current.update(new GenericInternalRow(new Object[] {last}));
    }
    return replaced(before, last);
  }
}
