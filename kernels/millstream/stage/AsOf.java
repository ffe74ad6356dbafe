package millstream.stage;

import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;
import millstream.stage.Timeline.Entry;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.streaming.StatefulProcessorHandle;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/**
 * Each row of a stream with its key's row in a table as it was at the row's time.
 *
 * <pre>
 *   change of the table ─▶ versions, by their time  ─┐
 *   row of the stream   ─▶ waits until its time is past ─▶ meets the last version up to its time, and is forgotten
 * </pre>
 *
 * A time is past when the watermark is beyond it: then no version of it is still to come. Versions that were replaced
 * before that are dropped, for no row will ask for them; where rows come from a step that let them wait, so much later.
 *
 * <p>Inputs: rows of the stream as {@code row, at}; changes of the table as {@code row, gone, place, time, ended}. In
 * a changelog, {@code gone} takes the row back, and ends it at {@code ended}. In upserts there is only its key then, and a
 * version without a row begins at {@code ended}.
 */
final class AsOf extends Operator {
  private static final long serialVersionUID = 1L;
  private static final long NEVER = Long.MAX_VALUE;

  private final StructType rowType;
  private final StructType tableType;
  private final StructType waitingType;
  private final StructType versionType;
  private final int streamPort;
  private final int[] keySlots;
  private final boolean outer;
  private final boolean upserts;
  private final Condition condition;
  /** How long after their time rows may come, in milliseconds. */
  private final long lag;

  private transient StatefulProcessorHandle handle;
  private transient Value state;
  private transient Timeline versions;
  private transient Timeline waiting;

  /** When the key's one timer is due. */
  private transient long timer;
  /** The place of the next row that waits. */
  private transient long next;
  /** Versions from before this time were dropped. */
  private transient long floor;

  private transient boolean changed;

  AsOf(OperatorSpec spec) {
    super(spec.name(), false);
    this.rowType = struct(spec.input(0), "row");
    this.tableType = struct(spec.input(1), "row");
    this.streamPort = spec.port();
    this.keySlots = spec.keySlots();
    this.outer = spec.flag("outer");
    this.upserts = spec.flag("tombstones");
    this.lag = spec.json().path("lag_ms").asLong();
    this.condition = spec.condition(Enrich.pairType(rowType, tableType));
    this.waitingType = new StructType().add("w", DataTypes.LongType, false).add("row", rowType, false);
    this.versionType = new StructType().add("ended", DataTypes.LongType, true).add("row", tableType, true);
  }

  static AsOf of(OperatorSpec spec) {
    return new AsOf(spec);
  }

  private static StructType struct(StructType type, String name) {
    return (StructType) type.fields()[type.fieldIndex(name)].dataType();
  }

  @Override
  StructType outputType() {
    return Enrich.pairType(rowType, tableType);
  }

  @Override
  void open(StatefulProcessorHandle handle) {
    this.handle = handle;
    StructType type =
        new StructType()
            .add("timer", DataTypes.LongType, false)
            .add("next", DataTypes.LongType, false)
            .add("floor", DataTypes.LongType, false)
            .add("versions", Timeline.type(versionType), false)
            .add("waiting", Timeline.type(waitingType), false);
    state = new Value(handle, name + "_key", type);
    versions = new Timeline(versionType, Timeline.spill(handle, name + "_versions", versionType));
    waiting = new Timeline(waitingType, Timeline.spill(handle, name + "_waiting", waitingType));
  }

  private void load() {
    InternalRow saved = state.get();
    timer = saved == null ? NEVER : saved.getLong(0);
    next = saved == null ? 0 : saved.getLong(1);
    floor = saved == null ? Long.MIN_VALUE : saved.getLong(2);
    versions.load(saved == null ? null : saved.getStruct(3, 2));
    waiting.load(saved == null ? null : saved.getStruct(4, 2));
    changed = false;
  }

  private void save() {
    if (versions.isEmpty() && waiting.isEmpty()) {
      if (timer != NEVER) {
        handle.deleteTimer(timer);
      }
      state.clear();
    } else if (changed || versions.dirty() || waiting.dirty()) {
      state.update(new GenericInternalRow(new Object[] {timer, next, floor, versions.save(), waiting.save()}));
    }
  }

  @Override
  Iterator<Change> process(InternalRow key, Changes changes) {
    load();
    List<Entry> now = new ArrayList<>();
    List<InternalRow> ends = new ArrayList<>();
    List<Change> out = new ArrayList<>();
    while (changes.next()) {
      InternalRow payload = changes.payload();
      if (changes.port() == streamPort) {
        asked(key, payload, changes.weight(), now, out);
      } else if (payload.getBoolean(1) && !upserts) {
        ends.add(payload.copy());
      } else {
        begin(payload);
      }
    }
    ends.forEach(this::end);
    for (Entry row : now) {
      answerLate(row, out);
    }
    save();
    return out.iterator();
  }

  /** A row of the stream waits for its time; without a time or a key there is nothing to wait for. */
  private void asked(InternalRow key, InternalRow payload, long weight, List<Entry> now, List<Change> out) {
    InternalRow row = payload.getStruct(0, rowType.length()).copy();
    if (payload.isNullAt(1) || keyless(key)) {
      if (outer) {
        out.add(new Change(Enrich.pair(row, null), weight));
      }
      return;
    }
    long time = payload.getLong(1);
    Entry entry = new Entry(time, next++, new GenericInternalRow(new Object[] {weight, row}));
    if (past(time)) {
      now.add(entry);
    } else {
      waiting.put(entry);
      changed = true;
      wake(due(time));
    }
  }

  private boolean keyless(InternalRow key) {
    for (int slot : keySlots) {
      if (key.isNullAt(slot)) {
        return true;
      }
    }
    return false;
  }

  private void begin(InternalRow payload) {
    boolean gone = payload.getBoolean(1);
    long time = payload.getLong(gone ? 4 : 3);
    if (past(time)) {
      late(1);
    }
    if (time < floor) {
      return;
    }
    boolean alone = versions.isEmpty() && !gone;
    InternalRow row = gone ? null : payload.getStruct(0, tableType.length()).copy();
    versions.put(new Entry(time, payload.getLong(2), new GenericInternalRow(new Object[] {null, row})));
    if (!alone) {
      wake(unasked(time));
    }
  }

  /** A changelog took a row back. */
  private void end(InternalRow payload) {
    InternalRow row = payload.getStruct(0, tableType.length());
    long time = payload.getLong(3);
    Entry ended = null;
    for (Iterator<Entry> all = versions.iterator(); ended == null && all.hasNext(); ) {
      Entry entry = all.next();
      if (entry.time() == time && entry.value().isNullAt(0) && row.equals(row(entry))) {
        ended = entry;
      }
    }
    if (ended != null) {
      long at = payload.getLong(4);
      versions.put(new Entry(time, ended.place(), new GenericInternalRow(new Object[] {at, row(ended)})));
      wake(unasked(at));
    } else if (time >= floor) {
      throw absent("a row");
    }
  }

  /** Rows that are late are answered if what they ask for is still there. */
  private void answerLate(Entry row, List<Change> out) {
    if (row.time() < floor) {
      late(row.value().getLong(0));
      return;
    }
    Entry found = null;
    for (Iterator<Entry> all = versions.iterator(); all.hasNext(); ) {
      Entry entry = all.next();
      if (entry.time() > row.time()) {
        break;
      }
      found = entry;
    }
    Change answer = answer(row, found);
    if (answer != null) {
      out.add(answer);
    }
  }

  private Change answer(Entry asked, Entry found) {
    InternalRow row = asked.value().getStruct(1, rowType.length());
    long weight = asked.value().getLong(0);
    if (found != null && row(found) != null && (found.value().isNullAt(0) || asked.time() < found.value().getLong(0))) {
      InternalRow pair = Enrich.pair(row, row(found));
      if (condition == null || condition.meets(pair)) {
        return new Change(pair, weight);
      }
    }
    return outer ? new Change(Enrich.pair(row, null), weight) : null;
  }

  private InternalRow row(Entry version) {
    return version.value().isNullAt(1) ? null : version.value().getStruct(1, tableType.length());
  }

  @Override
  Iterator<Change> expired(InternalRow key, long at) {
    load();
    return new Due();
  }

  /** The answers to all rows whose time is past, oldest first, beside the versions in the same order. */
  private final class Due implements Iterator<Change> {
    private final Iterator<Entry> rows = waiting.iterator();
    private final Iterator<Entry> all = versions.iterator();
    private final List<Entry> answered = new ArrayList<>();
    private final List<Entry> replaced = new ArrayList<>();
    private Entry found;
    private Entry ahead = all.hasNext() ? all.next() : null;
    /** The last version that replaced all before it for good, and the first that has not. */
    private Entry base;

    private Entry later;
    private Change next;
    private boolean finished;

    @Override
    public boolean hasNext() {
      while (next == null && !finished) {
        advance();
      }
      return next != null;
    }

    private void advance() {
      Entry row = rows.hasNext() ? rows.next() : null;
      if (row == null || !past(row.time())) {
        finished = true;
        finish(row);
        return;
      }
      while (ahead != null && ahead.time() <= row.time()) {
        step();
      }
      answered.add(new Entry(row.time(), row.place(), null));
      next = answer(row, found);
    }

    private void step() {
      if (watermark < unasked(ahead.time())) {
        later = later == null ? ahead : later;
      } else {
        if (base != null) {
          replaced.add(new Entry(base.time(), base.place(), null));
        }
        base = ahead;
      }
      found = ahead;
      ahead = all.hasNext() ? all.next() : null;
    }

    /** {@code first}: the first row that waits on. */
    private void finish(Entry first) {
      while (ahead != null && past(ahead.time())) {
        step();
      }
      answered.forEach(waiting::remove);
      replaced.forEach(versions::remove);
      if (!replaced.isEmpty()) {
        floor = base.time();
      }
      timer = timer <= watermark ? NEVER : timer;
      changed = true;
      if (first != null) {
        wake(due(first.time()));
      }
      if (base != null) {
        dropIfOver(base);
      }
      Entry replacing = later == null ? ahead : later;
      if (replacing != null) {
        wake(unasked(replacing.time()));
      }
      save();
    }

    /** The last version of a key goes, too, when it is a delete, or was taken back, and nobody asks for it any more. */
    private void dropIfOver(Entry last) {
      long end = row(last) == null ? last.time() : ended(last);
      if (end == NEVER) {
        return;
      }
      if (watermark >= unasked(end)) {
        versions.remove(last);
        floor = Math.max(floor, end);
      } else {
        wake(unasked(end));
      }
    }

    @Override
    public Change next() {
      if (!hasNext()) {
        throw new NoSuchElementException();
      }
      Change answer = next;
      next = null;
      return answer;
    }
  }

  private static long ended(Entry version) {
    return version.value().isNullAt(0) ? NEVER : version.value().getLong(0);
  }

  private boolean past(long time) {
    return watermark >= due(time);
  }

  /** The first millisecond at which a time is past. */
  private static long due(long time) {
    return Math.floorDiv(time, 1000L) + 1;
  }

  /** The first millisecond at which no more rows of before a time can come. */
  private long unasked(long time) {
    return due(time) + lag;
  }

  private void wake(long due) {
    long at = Math.max(due, watermark + 1);
    if (at < timer) {
      if (timer != NEVER) {
        handle.deleteTimer(timer);
      }
      handle.registerTimer(at);
      timer = at;
      changed = true;
    }
  }
}
