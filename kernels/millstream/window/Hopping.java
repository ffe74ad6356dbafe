package millstream.window;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.NavigableSet;
import java.util.TreeMap;
import java.util.TreeSet;
import millstream.aggregate.Accumulator;
import millstream.aggregate.Accumulators;
import millstream.aggregate.KeptFigures;
import millstream.operator.Moment;
import millstream.operator.Operator;
import millstream.operator.OperatorSpec;
import millstream.operator.Partial;
import millstream.row.Change;
import millstream.row.Changes;
import millstream.state.Alarm;
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
 * Windows of a key that overlap: what is counted between two beginnings, a pane, is kept once and is part of several.
 *
 * <pre>
 *   panes     |  a  |  b  |  c  |  d  |
 *   windows   |  a  +  b  +  c  |
 *                   |  b  +  c  +  d  |
 *
 *   one value per key:  timer, closed, panes [start, figures] in the order of time
 * </pre>
 *
 * <p>Figures are kept in the form of a payload, so that a window is the sum of its panes. Payload: the figures' fields,
 * then the start of the row's pane; one without a time has none, and is late. Times are in microseconds, the clock's in
 * milliseconds.
 */
public final class Hopping extends Operator {
  private static final long serialVersionUID = 1L;

  private final StructField[] keys;
  private final int[] keySlots;
  private final Accumulator[] accumulators;
  private final int windows;
  private final long every;
  private final long allowed;
  private final boolean last;
  private final int pane;
  /** The payload's field with the number of rows. */
  private final int counted;

  private final StructType figuresType;
  private transient Value state;
  private transient Alarm alarm;
  /** By their start. */
  private transient TreeMap<Long, KeptFigures> panes;

  /** Windows that ended up to then, by the clock, are closed: they take no rows, and have been sent. */
  private transient long closed;

  /**
   * Its settings.
   *
   * @param time the payload's field with the start of a row's pane; those before it are the figures
   * @param windows how many windows a pane is part of
   * @param everyMs from one window's beginning to the next
   * @param afterMs how long after its end a window is closed
   * @param finalOnly whether only the last result is sent, then
   */
  public record Told(
      List<Accumulators.Told> accumulators, String time, int windows, long everyMs, long afterMs, boolean finalOnly) {}

  public Hopping(OperatorSpec spec, Told told) {
    super(spec.name(), spec.upserts());
    this.keys = spec.keys();
    this.keySlots = spec.keySlots();
    this.accumulators = Accumulators.of(told.accumulators, spec.input(0));
    this.counted = spec.input(0).fieldIndex(told.accumulators.get(0).field());
    this.windows = told.windows;
    this.every = told.everyMs * 1000;
    this.allowed = told.afterMs;
    this.last = told.finalOnly;
    this.pane = spec.input(0).fieldIndex(told.time);
    this.figuresType = new StructType(Arrays.copyOf(spec.input(0).fields(), pane));
  }

  @Override
  public StructType outputType() {
    return Sessions.outputType(keys, accumulators);
  }

  @Override
  public void open(StatefulProcessorHandle handle) {
    StructType one = new StructType().add("start", DataTypes.LongType, false).add("figures", figuresType, false);
    StructType type =
        Alarm.TYPE.add("closed", DataTypes.LongType, false).add("panes", DataTypes.createArrayType(one, false), false);
    state = new Value(handle, name + "_panes", type);
    alarm = new Alarm(handle);
    panes = new TreeMap<>();
  }

  @Override
  public Iterator<Change> process(InternalRow key, Changes changes, Moment moment) {
    load();
    List<Change> out = close(key, moment);
    NavigableSet<Long> touched = new TreeSet<>();
    while (changes.next()) {
      InternalRow payload = changes.payload();
      if (payload.isNullAt(pane)) {
        late(payload.getLong(counted));
        continue;
      }
      long start = payload.getLong(pane);
      long over = Math.min(windows, closedAmong(start));
      if (over > 0) {
        late(payload.getLong(counted) * over);
      }
      if (over < windows) {
        panes.computeIfAbsent(start, none -> kept(null)).add(payload);
        touched.add(start);
      }
    }
    if (!last && !touched.isEmpty()) {
      correct(key, touched, out);
    }
    save();
    return out.iterator();
  }

  /** Sends what has changed in the windows that have one of these panes, in the order of time. */
  private void correct(InternalRow key, NavigableSet<Long> touched, List<Change> out) {
    PaneSums before = new PaneSums(panes, windows * every, touched.last(), KeptFigures::before, this::kept);
    PaneSums after = new PaneSums(panes, windows * every, touched.last(), KeptFigures::saved, this::kept);
    long next = Long.MIN_VALUE;
    for (long start : touched) {
      for (long window = Math.max(next, firstOpen(start)); window <= start; window += every) {
        Object[] old = result(key, window, before);
        Object[] now = result(key, window, after);
        if (!Arrays.deepEquals(old, now)) {
          out.addAll(replaced(row(old), row(now)));
        }
      }
      next = start + every;
    }
  }

  /** How many of the windows that a pane is part of are closed: the first ones. */
  private int closedAmong(long start) {
    return (int) Math.min(windows, ended(start - (windows - 1) * every, closed));
  }

  /** The first of the windows that a pane is part of that is not closed. */
  private long firstOpen(long start) {
    return start - (windows - 1 - closedAmong(start)) * every;
  }

  private KeptFigures kept(InternalRow saved) {
    return new KeptFigures(accumulators, figuresType.length(), saved);
  }

  /**
   * The time of some windows is over: sends their results, if they were held back, and drops panes that no window needs
   * any more.
   */
  @Override
  public Iterator<Change> expired(InternalRow key, long at, Moment moment) {
    load();
    alarm.ring(at);
    List<Change> out = close(key, moment);
    save();
    return out.iterator();
  }

  private List<Change> close(InternalRow key, Moment moment) {
    List<Change> out = new ArrayList<>();
    if (last && !panes.isEmpty()) {
      long first = firstOpen(panes.firstKey());
      long end = Math.min(panes.lastKey(), first + (ended(first, moment.watermark()) - 1) * every);
      PaneSums sums = new PaneSums(panes, windows * every, end, KeptFigures::saved, this::kept);
      for (long window = first; window <= end; window += every) {
        Object[] result = result(key, window, sums);
        if (result != null) {
          out.add(new Change(row(result), 1));
        }
      }
    }
    closed = Math.max(closed, moment.watermark());
    while (!panes.isEmpty() && closes(panes.firstKey()) <= closed) {
      panes.pollFirstEntry();
    }
    return out;
  }

  /** How many windows of a row of them end by a time of the clock. */
  private long ended(long first, long by) {
    return by < closes(first) ? 0 : (by - closes(first)) / (every / 1000) + 1;
  }

  /** When a window ends, by the clock. */
  private long closes(long start) {
    return Math.floorDiv(start + windows * every, 1000L) + allowed;
  }

  private void load() {
    panes.clear();
    closed = Long.MIN_VALUE;
    InternalRow saved = state.get();
    alarm.load(saved);
    if (saved == null) {
      return;
    }
    closed = saved.getLong(1);
    ArrayData entries = saved.getArray(2);
    for (int i = 0; i < entries.numElements(); i++) {
      InternalRow entry = entries.getStruct(i, 2);
      panes.put(entry.getLong(0), kept(entry.getStruct(1, figuresType.length())));
    }
  }

  private void save() {
    if (panes.isEmpty()) {
      state.clear();
      return;
    }
    long next = closes(last ? firstOpen(panes.firstKey()) : panes.firstKey());
    Object[] entries = new Object[panes.size()];
    int i = 0;
    for (Map.Entry<Long, KeptFigures> entry : panes.entrySet()) {
      entries[i++] =
          new GenericInternalRow(new Object[] {entry.getKey(), entry.getValue().saved()});
    }
    state.update(new GenericInternalRow(new Object[] {alarm.set(next), closed, new GenericArrayData(entries)}));
  }

  /** What a window gives; NULL if it has no rows. */
  private Object[] result(InternalRow key, long window, PaneSums sums) {
    KeptFigures sum = sums.of(window);
    return sum == null ? null : Sessions.result(key, keys, keySlots, window, window + windows * every, sum);
  }

  @Override
  public boolean combines() {
    return true;
  }

  @Override
  public Partial partial() {
    return new Merged();
  }

  /** The panes of a key that a task has seen. */
  private final class Merged implements Partial {
    private final Map<Long, KeptFigures> seen = new HashMap<>();

    @Override
    public void add(InternalRow payload, long weight) {
      Long start = payload.isNullAt(pane) ? null : payload.getLong(pane);
      seen.computeIfAbsent(start, any -> kept(null)).add(payload);
    }

    @Override
    public int size() {
      return seen.size();
    }

    @Override
    public List<Change> rows() {
      List<Change> rows = new ArrayList<>(seen.size());
      for (Map.Entry<Long, KeptFigures> entry : seen.entrySet()) {
        Object[] values = new Object[pane + 1];
        InternalRow figures = entry.getValue().saved();
        for (int i = 0; i < pane; i++) {
          values[i] = figures.get(i, figuresType.fields()[i].dataType());
        }
        values[pane] = entry.getKey();
        rows.add(new Change(new GenericInternalRow(values), 1));
      }
      return rows;
    }
  }
}
