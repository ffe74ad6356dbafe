package millstream.window;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Iterator;
import java.util.List;
import millstream.aggregate.Accumulators;
import millstream.aggregate.GroupOperator;
import millstream.operator.Moment;
import millstream.operator.OperatorSpec;
import millstream.row.Change;
import millstream.row.Changes;
import millstream.state.Alarm;
import millstream.state.Lifetime;
import millstream.state.Timeline;
import millstream.state.Value;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.streaming.StatefulProcessorHandle;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/**
 * The figures of what lies within some time before a group's latest row, or before the watermark if that is later.
 *
 * <pre>
 *   per group:  timer, the latest row's end, the oldest one's, a number per row, figures,
 *               rows by the time at which they leave
 * </pre>
 *
 * <p>Payload: the figures of a row, those that take it back again, and its end: when it leaves, in milliseconds.
 */
public final class Sliding extends GroupOperator {
  private static final long serialVersionUID = 1L;
  /** The end of the latest row where there is none: far enough from the least number to subtract from it. */
  private static final long NONE = Long.MIN_VALUE / 2;

  private final long size;
  private final int end;
  /** The payload's first field that takes a row back. */
  private final int back;

  private final StructType rowType;
  private transient Value state;
  private transient Alarm alarm;
  private transient Timeline rows;
  private transient long latest;
  private transient long oldest;
  private transient long next;
  private transient boolean kept;

  /**
   * Its settings.
   *
   * @param back the payload's first field of those that take a row back; there are as many as before it
   * @param end the payload's field that says when a row leaves
   * @param counted whether a result needs the number of rows
   * @param always whether there is a result even of no rows
   */
  public record Told(
      List<Accumulators.Told> accumulators, String back, String end, long sizeMs, boolean counted, boolean always) {}

  public Sliding(OperatorSpec spec, Told told) {
    super(spec, told.accumulators, told.counted, told.always);
    StructType payload = spec.input(0);
    this.size = told.sizeMs;
    this.end = payload.fieldIndex(told.end);
    this.back = payload.fieldIndex(told.back);
    this.rowType = new StructType(Arrays.copyOf(payload.fields(), back));
  }

  @Override
  public void open(StatefulProcessorHandle handle) {
    StructType type = Alarm.TYPE
        .add("latest", DataTypes.LongType, false)
        .add("oldest", DataTypes.LongType, false)
        .add("next", DataTypes.LongType, false)
        .add("rows", Timeline.type(rowType), false)
        .add("figures", figures.stateType(), false);
    state = new Value(handle, name + "_window", type);
    alarm = new Alarm(handle);
    rows = new Timeline(rowType, Timeline.spill(handle, name + "_rows", rowType));
    figures.open(handle, name);
  }

  @Override
  public Iterator<Change> process(InternalRow key, Changes changes, Moment moment) {
    Object[] before = load(key);
    while (changes.next()) {
      InternalRow payload = changes.payload();
      if (payload != null) {
        add(payload, changes.weight(), moment);
      }
    }
    return left(key, before, moment);
  }

  /** A row that is older than the size has left before it came; only one that the watermark has passed is late. */
  private void add(InternalRow payload, long weight, Moment moment) {
    if (payload.isNullAt(end) || payload.getLong(end) <= moment.watermark()) {
      late(payload.getLong(figures.counted()));
      return;
    }
    long leaves = payload.getLong(end);
    if (leaves <= over(moment)) {
      return;
    }
    figures.add(payload, weight);
    rows.put(new Timeline.Entry(leaves, next++, takingBack(payload)));
    oldest = Math.min(oldest, leaves);
    latest = Math.max(latest, leaves);
    if (over(moment) - oldest >= size) {
      // Of a backlog, no more than about twice the size is kept while it is processed.
      leave(moment);
    }
  }

  private InternalRow takingBack(InternalRow payload) {
    Object[] values = new Object[back];
    for (int i = 0; i < back; i++) {
      values[i] = payload.isNullAt(back + i)
          ? null
          : InternalRow.copyValue(payload.get(back + i, rowType.fields()[i].dataType()));
    }
    return new GenericInternalRow(values);
  }

  /** What ends by then is not in the window any more. */
  private long over(Moment moment) {
    return Math.max(moment.watermark(), latest - size);
  }

  private void leave(Moment moment) {
    if (oldest > over(moment)) {
      return;
    }
    List<Timeline.Entry> gone = new ArrayList<>();
    oldest = Lifetime.NEVER;
    for (Iterator<Timeline.Entry> each = rows.iterator(); each.hasNext() && oldest == Lifetime.NEVER; ) {
      Timeline.Entry entry = each.next();
      if (entry.time() <= over(moment)) {
        gone.add(entry);
      } else {
        oldest = entry.time();
      }
    }
    for (Timeline.Entry entry : gone) {
      rows.remove(entry);
      figures.add(entry.value(), entry.value().getLong(figures.counted()));
    }
  }

  @Override
  public Iterator<Change> expired(InternalRow key, long at, Moment moment) {
    Object[] before = load(key);
    alarm.ring(at);
    return before == null ? Collections.emptyIterator() : left(key, before, moment);
  }

  /** The result as it was sent last; NULL: none. */
  private Object[] load(InternalRow key) {
    InternalRow saved = state.get();
    kept = saved != null;
    alarm.load(saved);
    latest = saved == null ? NONE : saved.getLong(1);
    oldest = saved == null ? Lifetime.NEVER : saved.getLong(2);
    next = saved == null ? 0 : saved.getLong(3);
    rows.load(saved == null ? null : saved.getStruct(4, 2));
    figures.load(saved == null ? null : saved.getStruct(5, figures.stateType().length()));
    return saved == null ? null : figures.result(key);
  }

  /** Drops what has left, and saves the rest. */
  private Iterator<Change> left(InternalRow key, Object[] before, Moment moment) {
    leave(moment);
    Object[] after = figures.result(key);
    if (!figures.gone()) {
      state.update(
          new GenericInternalRow(new Object[] {alarm.set(oldest), latest, oldest, next, rows.save(), figures.saved()}));
    } else if (kept) {
      figures.drop();
      state.clear();
    }
    return replacing(before, after).iterator();
  }
}
