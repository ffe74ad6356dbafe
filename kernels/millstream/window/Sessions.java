package millstream.window;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import millstream.aggregate.Accumulator;
import millstream.aggregate.Accumulators;
import millstream.aggregate.KeptFigures;
import millstream.operator.Moment;
import millstream.operator.Operator;
import millstream.operator.OperatorSpec;
import millstream.row.Change;
import millstream.row.Changes;
import millstream.state.Alarm;
import millstream.state.Lifetime;
import millstream.state.Value;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.streaming.StatefulProcessorHandle;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/**
 * Sessions of a key: rows no further apart than a gap belong together, and a row in between joins two sessions.
 *
 * <pre>
 *   one value per key:  timer, sessions [start, last, figures] in the order of time
 * </pre>
 *
 * <p>Figures are kept in the form of a payload, so that joining two sessions means adding one to the other. Payload:
 * the figures' fields, then the row's time. Times are in microseconds, the clock's in milliseconds.
 */
public final class Sessions extends Operator {
  private static final long serialVersionUID = 1L;

  private final StructField[] keys;
  private final int[] keySlots;
  private final Accumulator[] accumulators;
  private final long gap;
  private final long allowed;
  private final boolean last;
  private final int time;
  /** The payload's field with the number of rows. */
  private final int counted;

  private final StructType figuresType;
  private transient Value state;
  private transient Alarm alarm;
  /** By their start. */
  private transient TreeMap<Long, Session> sessions;

  /**
   * Its settings.
   *
   * @param time the payload's field with a row's time; those before it are the figures
   * @param afterMs how long after its last row and the gap a session ends
   * @param finalOnly whether only the last result is sent, when the session ends
   */
  public record Told(List<Accumulators.Told> accumulators, String time, long gapMs, long afterMs, boolean finalOnly) {}

  public Sessions(OperatorSpec spec, Told told) {
    super(spec.name(), spec.upserts());
    this.keys = spec.keys();
    this.keySlots = spec.keySlots();
    this.accumulators = Accumulators.of(told.accumulators, spec.input(0));
    this.counted = spec.input(0).fieldIndex(told.accumulators.get(0).field());
    this.gap = told.gapMs * 1000;
    this.allowed = told.afterMs;
    this.last = told.finalOnly;
    this.time = spec.input(0).fieldIndex(told.time);
    this.figuresType = new StructType(Arrays.copyOf(spec.input(0).fields(), time));
    if (!Arrays.stream(accumulators).allMatch(Accumulator::combines)) {
      throw new IllegalArgumentException("figures of sessions must be able to be joined");
    }
  }

  @Override
  public StructType outputType() {
    return outputType(keys, accumulators);
  }

  /** A window, the keys, the figures. */
  static StructType outputType(StructField[] keys, Accumulator[] accumulators) {
    StructType type = new StructType().add("start", "timestamp", false).add("end", "timestamp", false);
    for (int i = 0; i < keys.length; i++) {
      type = type.add("k" + i, keys[i].dataType(), true);
    }
    for (int i = 0; i < accumulators.length; i++) {
      type = type.add("a" + i, accumulators[i].resultType(), true);
    }
    return type;
  }

  @Override
  public void open(StatefulProcessorHandle handle) {
    StructType session = new StructType()
        .add("start", DataTypes.LongType, false)
        .add("last", DataTypes.LongType, false)
        .add("figures", figuresType, false);
    StructType type = Alarm.TYPE.add("sessions", DataTypes.createArrayType(session, false), false);
    state = new Value(handle, name + "_sessions", type);
    alarm = new Alarm(handle);
    sessions = new TreeMap<>();
  }

  @Override
  public Iterator<Change> process(InternalRow key, Changes changes, Moment moment) {
    load();
    Map<Long, Object[]> before = new TreeMap<>();
    while (changes.next()) {
      InternalRow payload = changes.payload();
      if (payload.isNullAt(time) || over(payload.getLong(time), moment)) {
        late(payload.getLong(counted));
      } else {
        join(key, payload, before, moment);
      }
    }
    List<Change> out = last ? List.of() : changed(key, before);
    save();
    return out.iterator();
  }

  /** Adds a row to the session that it touches, or joins the two that it lies between. */
  private void join(InternalRow key, InternalRow payload, Map<Long, Object[]> before, Moment moment) {
    long at = payload.getLong(time);
    Session left = touching(sessions.floorEntry(at), at, moment);
    Session right = touching(sessions.ceilingEntry(at), at, moment);
    Session session = left != null ? left : right != null ? right : new Session(at, at, null);
    touch(key, session, before);
    if (left != null && right != null && left != right) {
      touch(key, right, before);
      sessions.remove(right.start);
      left.figures.add(right.figures.saved());
      left.last = Math.max(left.last, right.last);
    }
    session.figures.add(payload);
    session.last = Math.max(session.last, at);
    if (at < session.start) {
      sessions.remove(session.start);
      session.start = at;
    }
    sessions.put(session.start, session);
  }

  /** The session if a row of that time belongs to it. One whose time is over takes no more rows. */
  private Session touching(Map.Entry<Long, Session> entry, long at, Moment moment) {
    Session session = entry == null ? null : entry.getValue();
    boolean near = session != null && at <= session.last + gap && at >= session.start - gap;
    return near && !over(session.last, moment) ? session : null;
  }

  /** Remembers what was last sent for a session, before it changes. */
  private void touch(InternalRow key, Session session, Map<Long, Object[]> before) {
    if (!session.figures.isOpen()) {
      session.figures.open();
      if (!session.figures.isNew() && !last) {
        before.put(session.start, result(key, session));
      }
    }
  }

  private List<Change> changed(InternalRow key, Map<Long, Object[]> before) {
    List<Change> out = new ArrayList<>();
    for (Map.Entry<Long, Object[]> gone : before.entrySet()) {
      if (!sessions.containsKey(gone.getKey())) {
        out.addAll(replaced(row(gone.getValue()), null));
      }
    }
    for (Session session : sessions.values()) {
      if (session.figures.isOpen()) {
        Object[] old = before.get(session.start);
        Object[] now = result(key, session);
        if (!Arrays.deepEquals(old, now)) {
          out.addAll(replaced(row(old), row(now)));
        }
      }
    }
    return out;
  }

  /** The time of some sessions is over: their last results, if they were held back, and no more state. */
  @Override
  public Iterator<Change> expired(InternalRow key, long at, Moment moment) {
    load();
    alarm.ring(at);
    List<Change> out = new ArrayList<>();
    Iterator<Session> each = sessions.values().iterator();
    while (each.hasNext()) {
      Session session = each.next();
      if (over(session.last, moment)) {
        each.remove();
        out.add(new Change(row(result(key, session)), 1));
      }
    }
    save();
    return last ? out.iterator() : Collections.emptyIterator();
  }

  /** When a session, or a row by itself, ends, given its last time. */
  private long closes(long lastTime) {
    return Math.floorDiv(lastTime + gap, 1000L) + allowed;
  }

  private boolean over(long lastTime, Moment moment) {
    return moment.watermark() >= closes(lastTime);
  }

  private void load() {
    sessions.clear();
    InternalRow saved = state.get();
    alarm.load(saved);
    if (saved == null) {
      return;
    }
    ArrayData entries = saved.getArray(1);
    for (int i = 0; i < entries.numElements(); i++) {
      InternalRow entry = entries.getStruct(i, 3);
      InternalRow figures = entry.getStruct(2, figuresType.length());
      sessions.put(entry.getLong(0), new Session(entry.getLong(0), entry.getLong(1), figures));
    }
  }

  private void save() {
    if (sessions.isEmpty()) {
      state.clear();
      return;
    }
    long next = Lifetime.NEVER;
    Object[] entries = new Object[sessions.size()];
    int i = 0;
    for (Session session : sessions.values()) {
      next = Math.min(next, closes(session.last));
      entries[i++] = new GenericInternalRow(new Object[] {session.start, session.last, session.figures.saved()});
    }
    state.update(new GenericInternalRow(new Object[] {alarm.set(next), new GenericArrayData(entries)}));
  }

  private Object[] result(InternalRow key, Session session) {
    return result(key, keys, keySlots, session.start, session.last + gap, session.figures);
  }

  static Object[] result(
      InternalRow key, StructField[] keys, int[] keySlots, long start, long end, KeptFigures figures) {
    Object[] values = new Object[2 + keys.length + figures.count()];
    values[0] = start;
    values[1] = end;
    for (int i = 0; i < keys.length; i++) {
      values[2 + i] = key.isNullAt(keySlots[i]) ? null : key.get(keySlots[i], keys[i].dataType());
    }
    figures.results(values, 2 + keys.length);
    return values;
  }

  /** A stretch of rows. */
  private final class Session {
    private long start;
    private long last;
    private final KeptFigures figures;

    Session(long start, long last, InternalRow kept) {
      this.start = start;
      this.last = last;
      this.figures = new KeptFigures(accumulators, figuresType.length(), kept);
    }
  }
}
