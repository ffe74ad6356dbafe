package millstream.table;

import java.util.Iterator;
import java.util.List;
import millstream.operator.Moment;
import millstream.operator.Operator;
import millstream.operator.OperatorSpec;
import millstream.row.Change;
import millstream.row.Changes;
import millstream.state.Value;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.streaming.StatefulProcessorHandle;
import org.apache.spark.sql.types.StructType;

/**
 * Turns upserts and deletes by key into changes: keeps the latest row of the key, takes back the one before.
 *
 * <p>Payload: {@code row} (NULL deletes) and {@code order}, the place in the log: the shuffle may mix up the rows of an
 * epoch, and only the last of them counts.
 */
public final class Upserts extends Operator {
  private static final long serialVersionUID = 1L;

  private final StructType rowType;
  /** Where the payload has its row, and its place in the log. */
  private final int row;

  private final int order;
  private transient Value current;

  /** It has no settings. */
  public record Told() {}

  public Upserts(OperatorSpec spec, Told told) {
    super(spec.name(), spec.upserts());
    StructType payload = spec.input(0);
    this.row = payload.fieldIndex("row");
    this.order = payload.fieldIndex("order");
    this.rowType = (StructType) payload.fields()[row].dataType();
  }

  @Override
  public StructType outputType() {
    return rowType;
  }

  @Override
  public void open(StatefulProcessorHandle handle) {
    StructType state = new StructType().add("row", rowType, false);
    current = new Value(handle, name + "_row", state);
  }

  @Override
  public Iterator<Change> process(InternalRow key, Changes changes, Moment moment) {
    InternalRow last = null;
    long latest = Long.MIN_VALUE;
    while (changes.next()) {
      InternalRow payload = changes.payload();
      if (payload.getLong(order) >= latest) {
        latest = payload.getLong(order);
        last = payload.isNullAt(row)
            ? null
            : payload.getStruct(row, rowType.length()).copy();
      }
    }
    return keep(last).iterator();
  }

  private List<Change> keep(InternalRow last) {
    InternalRow state = current.get();
    InternalRow before =
        state == null ? null : state.getStruct(0, rowType.length()).copy();
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
