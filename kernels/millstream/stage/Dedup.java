package millstream.stage;

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
abstract class Dedup extends Operator {
  private static final long serialVersionUID = 1L;

  final StructType rowType;
  final RowOrder order;
  /** In microseconds. */
  final long within;

  private final int time;
  private final long lateness;
  private transient Value state;
  transient Alarm alarm;

  /** {@code more}: rows can be judged for so many milliseconds more than the spec says. */
  Dedup(OperatorSpec spec, long more) {
    super(spec.name(), spec.upserts());
    this.rowType = spec.input(0);
    this.time = spec.json().get("fields").asInt();
    this.order = new RowOrder(rowType, spec.json().get("order"), time);
    this.within = spec.json().get("within_ms").asLong() * 1000;
    this.lateness = spec.json().get("late_ms").asLong() + more;
  }

  @Override
  final StructType outputType() {
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

  /** {@code over}: when the first of the entries has come to its end. */
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
  final boolean inTime(InternalRow row, long weight) {
    if (!row.isNullAt(time) && watermark < decided(at(row))) {
      return true;
    }
    late(weight);
    return false;
  }
}
