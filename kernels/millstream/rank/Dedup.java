package millstream.rank;

import java.util.List;
import millstream.operator.Moment;
import millstream.operator.Operator;
import millstream.operator.OperatorSpec;
import millstream.row.RowOrder;
import millstream.state.Alarm;
import millstream.state.Value;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.streaming.StatefulProcessorHandle;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/**
 * Of rows of a key that are close in event time, lets one through.
 *
 * <pre>
 *   one value per key:  timer, what is kept of rows, in the order of time
 * </pre>
 *
 * <p>Payload: the row's fields, then its time in microseconds. The clock's times are in milliseconds.
 */
public abstract class Dedup extends Operator {
  private static final long serialVersionUID = 1L;

  final StructType rowType;
  final RowOrder order;
  /** In microseconds. */
  final long within;

  private final int time;
  private final long lateness;
  private transient Value state;
  transient Alarm alarm;

  /**
   * Its settings.
   *
   * @param time a row's field with its time in microseconds; those before it settle ties
   * @param lateMs how long after its time a row can be judged
   */
  public record Told(boolean keepLast, String time, long withinMs, long lateMs) {}

  /** {@code more}: for how many milliseconds beyond {@code lateMs} rows can be judged. */
  Dedup(OperatorSpec spec, Told told, long more) {
    super(spec.name(), spec.upserts());
    this.rowType = spec.input(0);
    this.time = rowType.fieldIndex(told.time);
    this.order = new RowOrder(rowType, List.of(new RowOrder.Told(told.time, false, true)), time);
    this.within = told.withinMs * 1000;
    this.lateness = told.lateMs + more;
  }

  public static Dedup of(OperatorSpec spec, Told told) {
    return told.keepLast ? new DedupLast(spec, told) : new DedupFirst(spec, told);
  }

  @Override
  public final StructType outputType() {
    return rowType;
  }

  /** The state is a list of such entries. */
  final void open(StatefulProcessorHandle handle, String entries, DataType entry) {
    StructType type = Alarm.TYPE.add(entries, DataTypes.createArrayType(entry, false), false);
    state = new Value(handle, name + "_" + entries, type);
    alarm = new Alarm(handle);
  }

  /** NULL: nothing is kept. */
  final ArrayData load() {
    InternalRow saved = state.get();
    alarm.load(saved);
    return saved == null ? null : saved.getArray(1);
  }

  /** {@code over}: when the first of the entries has ended. */
  final void save(Object[] entries, long over) {
    state.update(new GenericInternalRow(new Object[] {alarm.set(over), new GenericArrayData(entries)}));
  }

  final void clear() {
    state.clear();
  }

  final long at(InternalRow row) {
    return row.getLong(time);
  }

  /** The watermark at which a row of that time can no longer be judged. */
  final long decided(long at) {
    return Math.floorDiv(at, 1000L) + lateness;
  }

  /** Whether the row can be judged: one that comes too late, or has no time, is counted. */
  final boolean inTime(InternalRow row, long weight, Moment moment) {
    if (!row.isNullAt(time) && moment.watermark() < decided(at(row))) {
      return true;
    }
    late(weight);
    return false;
  }
}
