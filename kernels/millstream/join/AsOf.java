package millstream.join;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;
import millstream.operator.Moment;
import millstream.operator.Operator;
import millstream.operator.OperatorSpec;
import millstream.row.Change;
import millstream.row.Changes;
import millstream.row.Condition;
import millstream.state.Alarm;
import millstream.state.Timeline;
import millstream.state.Timeline.Entry;
import millstream.state.Value;
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
 * A time is past when the watermark is beyond it: then no version of it is still to come.
 *
 * <p>Inputs: rows of the stream as {@code row, at}; changes of the table as {@code row, gone, place, time, ended}. In a
 * changelog, {@code gone} takes the row back, and ends it at {@code ended}. In upserts there is only its key then, and
 * a version without a row begins at {@code ended}.
 */
public final class AsOf extends Operator {
  private static final long serialVersionUID = 1L;

  private final StructType rowType;
  private final StructType tableType;
  private final StructType waitingType;
  private final Asking asking;
  private final Versions.Fields version;
  private final int streamPort;
  private final int[] keySlots;
  private final boolean outer;
  private final boolean upserts;
  private final Condition condition;
  /** How long after their time rows may come, in milliseconds. */
  private final long lag;

  private transient Value state;
  private transient Versions versions;
  private transient Timeline waiting;

  private transient Alarm alarm;
  /** The place of the next row that waits. */
  private transient long next;

  private transient boolean changed;

  /**
   * Its settings.
   *
   * @param tombstones whether the table comes as upserts
   * @param condition what pairs must meet, as SQL over {@code l} and {@code r}; NULL: nothing
   * @param lagMs how long after their time rows may come
   */
  public record Told(boolean outer, boolean tombstones, String condition, long lagMs) {}

  public AsOf(OperatorSpec spec, Told told) {
    super(spec.name(), false);
    this.rowType = struct(spec.input(0), "row");
    this.tableType = struct(spec.input(1), "row");
    this.asking = new Asking(spec.input(0));
    this.version = new Versions.Fields(spec.input(1));
    this.streamPort = spec.port();
    this.keySlots = spec.keySlots();
    this.outer = told.outer;
    this.upserts = told.tombstones;
    this.lag = told.lagMs;
    this.condition = spec.condition(told.condition, Enrich.pairType(rowType, tableType));
    this.waitingType = new StructType().add("w", DataTypes.LongType, false).add("row", rowType, false);
  }

  /** Where a row of the stream has its fields. */
  private record Asking(int row, int at) implements Serializable {
    Asking(StructType payload) {
      this(payload.fieldIndex("row"), payload.fieldIndex("at"));
    }
  }

  private static StructType struct(StructType type, String name) {
    return (StructType) type.fields()[type.fieldIndex(name)].dataType();
  }

  @Override
  public StructType outputType() {
    return Enrich.pairType(rowType, tableType);
  }

  @Override
  public void open(StatefulProcessorHandle handle) {
    StructType type = Alarm.TYPE
        .add("next", DataTypes.LongType, false)
        .add("floor", DataTypes.LongType, false)
        .add("versions", Versions.type(tableType), false)
        .add("waiting", Timeline.type(waitingType), false);
    state = new Value(handle, name + "_key", type);
    alarm = new Alarm(handle);
    versions = new Versions(handle, name, version, tableType, lag, alarm);
    waiting = new Timeline(waitingType, Timeline.spill(handle, name + "_waiting", waitingType));
  }

  private void load() {
    InternalRow saved = state.get();
    alarm.load(saved);
    next = saved == null ? 0 : saved.getLong(1);
    versions.load(saved == null ? null : saved.getStruct(3, 2), saved == null ? Long.MIN_VALUE : saved.getLong(2));
    waiting.load(saved == null ? null : saved.getStruct(4, 2));
    changed = false;
  }

  private void save() {
    if (versions.isEmpty() && waiting.isEmpty()) {
      alarm.clear();
      state.clear();
    } else if (alarm.set() || changed || versions.dirty() || waiting.dirty()) {
      state.update(
          new GenericInternalRow(new Object[] {alarm.time(), next, versions.floor(), versions.save(), waiting.save()}));
    }
  }

  @Override
  public Iterator<Change> process(InternalRow key, Changes changes, Moment moment) {
    load();
    List<Entry> now = new ArrayList<>();
    List<InternalRow> ends = new ArrayList<>();
    List<Change> out = new ArrayList<>();
    while (changes.next()) {
      InternalRow payload = changes.payload();
      if (changes.port() == streamPort) {
        asked(key, payload, changes.weight(), now, out, moment);
      } else if (payload.getBoolean(version.gone()) && !upserts) {
        ends.add(payload.copy());
      } else {
        if (Versions.past(versions.begins(payload), moment)) {
          late(1);
        }
        versions.begin(payload, moment);
      }
    }
    ends.forEach(payload -> versions.end(payload, moment));
    for (Entry row : now) {
      answerLate(row, out);
    }
    save();
    return out.iterator();
  }

  /** A row of the stream waits for its time; without a time or a key there is nothing to wait for. */
  private void asked(
      InternalRow key, InternalRow payload, long weight, List<Entry> now, List<Change> out, Moment moment) {
    InternalRow row = payload.getStruct(asking.row, rowType.length()).copy();
    if (payload.isNullAt(asking.at) || keyless(key)) {
      if (outer) {
        out.add(new Change(Enrich.pair(row, null), weight));
      }
      return;
    }
    long time = payload.getLong(asking.at);
    Entry entry = new Entry(time, next++, new GenericInternalRow(new Object[] {weight, row}));
    if (Versions.past(time, moment)) {
      now.add(entry);
    } else {
      waiting.put(entry);
      changed = true;
      wake(time, moment);
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

  /** Rows that are late are answered if what they ask for is still there. */
  private void answerLate(Entry row, List<Change> out) {
    if (row.time() < versions.floor()) {
      late(row.value().getLong(0));
      return;
    }
    Change answer = answer(row, versions.at(row.time()));
    if (answer != null) {
      out.add(answer);
    }
  }

  /** {@code version}: the table's row at that time; NULL: there was none. */
  private Change answer(Entry asked, InternalRow version) {
    InternalRow row = asked.value().getStruct(1, rowType.length());
    long weight = asked.value().getLong(0);
    if (version != null) {
      InternalRow pair = Enrich.pair(row, version);
      if (condition == null || condition.meets(pair)) {
        return new Change(pair, weight);
      }
    }
    return outer ? new Change(Enrich.pair(row, null), weight) : null;
  }

  @Override
  public Iterator<Change> expired(InternalRow key, long at, Moment moment) {
    load();
    alarm.ring(at);
    return new Due(moment);
  }

  /** The answers to all rows whose time is past, oldest first, beside the versions in the same order. */
  private final class Due implements Iterator<Change> {
    private final Moment moment;
    private final Iterator<Entry> rows = waiting.iterator();
    private final Versions.Sweep sweep;
    private final List<Entry> answered = new ArrayList<>();
    private Change next;
    private boolean finished;

    Due(Moment moment) {
      this.moment = moment;
      this.sweep = versions.sweep(moment);
    }

    @Override
    public boolean hasNext() {
      while (next == null && !finished) {
        advance();
      }
      return next != null;
    }

    private void advance() {
      Entry row = rows.hasNext() ? rows.next() : null;
      if (row == null || !Versions.past(row.time(), moment)) {
        finished = true;
        finish(row);
        return;
      }
      answered.add(new Entry(row.time(), row.place(), null));
      next = answer(row, sweep.at(row.time()));
    }

    /** {@code first}: the first row that waits on. */
    private void finish(Entry first) {
      sweep.finish();
      answered.forEach(waiting::remove);
      changed = true;
      if (first != null) {
        wake(first.time(), moment);
      }
      save();
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

  private void wake(long time, Moment moment) {
    alarm.at(Versions.due(time), moment.watermark());
  }
}
