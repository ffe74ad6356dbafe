package millstream.stage;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.NavigableSet;
import java.util.TreeMap;
import java.util.TreeSet;
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
 * <p>Figures are kept in the form of a payload, so that a window is the sum of its panes. Payload: the figures' fields, then
 * the start of the row's pane; one without a time has none, and is late. Times are in microseconds, the clock's in milliseconds.
 */
final class Hopping extends Operator {
  private static final long serialVersionUID = 1L;

  private final StructField[] keys;
  private final int[] keySlots;
  private final Accumulator[] accumulators;
  private final int windows;
  private final long every;
  private final long allowed;
  private final boolean last;
  private final int pane;
  private final StructType figuresType;
  private transient Value state;
  private transient Alarm alarm;
  /** By their start. */
  private transient TreeMap<Long, KeptFigures> panes;

  /** Windows that ended up to then, by the clock, are closed: they take no rows, and have been sent. */
  private transient long closed;

  Hopping(OperatorSpec spec) {
    super(spec.name(), spec.upserts());
    JsonNode closing = spec.json().get("closing");
    this.keys = spec.keys();
    this.keySlots = spec.keySlots();
    this.accumulators = Accumulators.of(spec.json().get("accumulators"), spec.input(0));
    this.windows = spec.json().get("windows").asInt();
    this.every = spec.json().get("every_ms").asLong() * 1000;
    this.allowed = closing.get("allowed_ms").asLong();
    this.last = closing.get("final").asBoolean();
    this.pane = spec.input(0).length() - 1;
    this.figuresType = new StructType(Arrays.copyOf(spec.input(0).fields(), pane));
  }

  static Hopping of(OperatorSpec spec) {
    return new Hopping(spec);
  }

  @Override
  StructType outputType() {
    return Sessions.outputType(keys, accumulators);
  }

  @Override
  void open(StatefulProcessorHandle handle) {
    StructType one = new StructType().add("start", DataTypes.LongType, false).add("figures", figuresType, false);
    StructType type =
        Alarm.TYPE
            .add("closed", DataTypes.LongType, false)
            .add("panes", DataTypes.createArrayType(one, false), false);
    state = new Value(handle, name + "_panes", type);
    alarm = new Alarm(handle);
    panes = new TreeMap<>();
  }

  @Override
  Iterator<Change> process(InternalRow key, Changes changes) {
    load();
    List<Change> out = close(key);
    NavigableSet<Long> touched = new TreeSet<>();
    while (changes.next()) {
      InternalRow payload = changes.payload();
      if (payload.isNullAt(pane)) {
        late(payload.getLong(0));
        continue;
      }
      long start = payload.getLong(pane);
      long over = Math.min(windows, closedAmong(start));
      if (over > 0) {
        late(payload.getLong(0) * over);
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

  /** Sends what has changed of the windows that have one of these panes, in the order of time. */
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

  /** The time of some windows is over: their results, if they were held back; and panes that no window needs any more go. */
  @Override
  Iterator<Change> expired(InternalRow key, long at) {
    load();
    alarm.ring(at);
    List<Change> out = close(key);
    save();
    return out.iterator();
  }

  private List<Change> close(InternalRow key) {
    List<Change> out = new ArrayList<>();
    if (last && !panes.isEmpty()) {
      long first = firstOpen(panes.firstKey());
      long end = Math.min(panes.lastKey(), first + (ended(first, watermark) - 1) * every);
      PaneSums sums = new PaneSums(panes, windows * every, end, KeptFigures::saved, this::kept);
      for (long window = first; window <= end; window += every) {
        Object[] result = result(key, window, sums);
        if (result != null) {
          out.add(new Change(row(result), 1));
        }
      }
    }
    closed = Math.max(closed, watermark);
    while (!panes.isEmpty() && closes(panes.firstKey()) <= closed) {
      panes.pollFirstEntry();
    }
    return out;
  }

  /** How many windows of a row of them end by a time of the clock. */
  private long ended(long first, long by) {
    return by < closes(first) ? 0 : (by - closes(first)) / (every / 1000) + 1;
  }

  /** When a window comes to its end, by the clock. */
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
      entries[i++] = new GenericInternalRow(new Object[] {entry.getKey(), entry.getValue().saved()});
    }
    state.update(new GenericInternalRow(new Object[] {alarm.set(next), closed, new GenericArrayData(entries)}));
  }

  /** What a window gives; NULL if it has no rows. */
  private Object[] result(InternalRow key, long window, PaneSums sums) {
    KeptFigures sum = sums.of(window);
    return sum == null ? null : Sessions.result(key, keys, keySlots, window, window + windows * every, sum);
  }

  private static InternalRow row(Object[] values) {
    return values == null ? null : new GenericInternalRow(values);
  }

  @Override
  boolean combines() {
    return true;
  }

  @Override
  Partial partial() {
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
