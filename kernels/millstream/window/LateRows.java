package millstream.window;

import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import millstream.operator.Moment;
import millstream.operator.Operator;
import millstream.operator.OperatorSpec;
import millstream.row.Change;
import millstream.row.Changes;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.streaming.StatefulProcessorHandle;
import org.apache.spark.sql.types.StructType;

/**
 * Gives the rows whose window is closed, and those that have no time and so no window: the rows that the windows' own
 * operator, beside it, does not count.
 */
public final class LateRows extends Operator {
  private static final long serialVersionUID = 1L;

  private final StructType type;
  private final int end;
  private final long allowed;

  /**
   * Its settings.
   *
   * @param end a row's field with the end of its window
   * @param afterMs how long after its end a window is closed
   */
  public record Told(String end, long afterMs) {}

  public LateRows(OperatorSpec spec, Told told) {
    super(spec.name(), false);
    this.type = spec.input(0);
    this.end = type.fieldIndex(told.end);
    this.allowed = told.afterMs;
  }

  @Override
  public StructType outputType() {
    return type;
  }

  @Override
  public void open(StatefulProcessorHandle handle) {
    // Nothing is kept.
  }

  @Override
  public Iterator<Change> process(InternalRow key, Changes changes, Moment moment) {
    List<Change> out = new ArrayList<>();
    while (changes.next()) {
      InternalRow row = changes.payload();
      if (row.isNullAt(end) || moment.watermark() >= Math.floorDiv(row.getLong(end), 1000L) + allowed) {
        out.add(new Change(row.copy(), changes.weight()));
      }
    }
    return out.iterator();
  }
}
