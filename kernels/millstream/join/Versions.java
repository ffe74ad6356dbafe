package millstream.join;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import millstream.operator.Moment;
import millstream.state.Absent;
import millstream.state.Alarm;
import millstream.state.Lifetime;
import millstream.state.Timeline;
import millstream.state.Timeline.Entry;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.streaming.StatefulProcessorHandle;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/**
 * The versions of a key's row in a table: {@code ended, row} by the time at which it began.
 *
 * <p>Versions that were replaced before the watermark are dropped, because no row will ask for them; where rows come
 * from a step that let them wait, that much later.
 */
final class Versions {
  /** Where a change of the table has its fields. */
  record Fields(int row, int gone, int place, int time, int ended) implements Serializable {
    Fields(StructType payload) {
      this(
          payload.fieldIndex("row"),
          payload.fieldIndex("gone"),
          payload.fieldIndex("place"),
          payload.fieldIndex("time"),
          payload.fieldIndex("ended"));
    }
  }

  private final String step;
  private final Fields fields;
  private final int width;
  private final long lag;
  private final Alarm alarm;
  private final Timeline line;
  /** Versions from before this time were dropped. */
  private long floor;

  /** {@code lag}: how long after their time rows may come, in milliseconds; {@code alarm}: rings when some may go. */
  Versions(StatefulProcessorHandle handle, String step, Fields fields, StructType rowType, long lag, Alarm alarm) {
    this.step = step;
    this.fields = fields;
    this.width = rowType.length();
    this.lag = lag;
    this.alarm = alarm;
    StructType type = versionType(rowType);
    this.line = new Timeline(type, Timeline.spill(handle, step + "_versions", type));
  }

  /** What they take up in the operator's value state. */
  static StructType type(StructType rowType) {
    return Timeline.type(versionType(rowType));
  }

  private static StructType versionType(StructType rowType) {
    return new StructType().add("ended", DataTypes.LongType, true).add("row", rowType, true);
  }

  /** Begins with what was saved, or with nothing. */
  void load(InternalRow saved, long droppedUpTo) {
    line.load(saved);
    floor = droppedUpTo;
  }

  InternalRow save() {
    return line.save();
  }

  long floor() {
    return floor;
  }

  boolean dirty() {
    return line.dirty();
  }

  boolean isEmpty() {
    return line.isEmpty();
  }

  /** The first millisecond at which a time is past. */
  static long due(long time) {
    return Math.floorDiv(time, 1000L) + 1;
  }

  static boolean past(long time, Moment moment) {
    return moment.watermark() >= due(time);
  }

  /** The first millisecond at which no more rows of before a time can come. */
  private long unasked(long time) {
    return due(time) + lag;
  }

  private void wake(long time, Moment moment) {
    alarm.at(unasked(time), moment.watermark());
  }

  /** When the version begins that a change brings: a row or, in upserts, its end. */
  long begins(InternalRow change) {
    return change.getLong(change.getBoolean(fields.gone) ? fields.ended : fields.time);
  }

  void begin(InternalRow change, Moment moment) {
    boolean gone = change.getBoolean(fields.gone);
    long time = begins(change);
    if (time < floor) {
      return;
    }
    boolean alone = line.isEmpty() && !gone;
    InternalRow row = gone ? null : change.getStruct(fields.row, width).copy();
    line.put(version(time, change.getLong(fields.place), null, row));
    if (!alone) {
      wake(time, moment);
    }
  }

  /** A changelog took a row back. */
  void end(InternalRow change, Moment moment) {
    InternalRow row = change.getStruct(fields.row, width);
    long time = change.getLong(fields.time);
    Entry ended = null;
    for (Iterator<Entry> all = line.iterator(); ended == null && all.hasNext(); ) {
      Entry entry = all.next();
      if (entry.time() == time && entry.value().isNullAt(0) && row.equals(row(entry))) {
        ended = entry;
      }
    }
    if (ended != null) {
      long at = change.getLong(fields.ended);
      line.put(version(time, ended.place(), at, row(ended)));
      wake(at, moment);
    } else if (time >= floor) {
      throw new Absent(step, "a row");
    }
  }

  private static Entry version(long time, long place, Long ended, InternalRow row) {
    return new Entry(time, place, new GenericInternalRow(new Object[] {ended, row}));
  }

  /** What a version gives at a time since it began. */
  private InternalRow rowAt(Entry version, long time) {
    return version == null || time >= ended(version) ? null : row(version);
  }

  private InternalRow row(Entry version) {
    return version.value().isNullAt(1) ? null : version.value().getStruct(1, width);
  }

  private static long ended(Entry version) {
    return version.value().isNullAt(0) ? Lifetime.NEVER : version.value().getLong(0);
  }

  /** The row at a time that is not below the floor; NULL: there was none. */
  InternalRow at(long time) {
    Entry found = null;
    for (Iterator<Entry> all = line.iterator(); all.hasNext(); ) {
      Entry entry = all.next();
      if (entry.time() > time) {
        break;
      }
      found = entry;
    }
    return rowAt(found, time);
  }

  Sweep sweep(Moment moment) {
    return new Sweep(moment);
  }

  /**
   * Goes through the versions whose time is past, in the order of time, and drops those that are not needed any more.
   */
  final class Sweep {
    private final Moment moment;
    private final Iterator<Entry> all = line.iterator();
    private final List<Entry> replaced = new ArrayList<>();
    private Entry found;
    private Entry ahead = all.hasNext() ? all.next() : null;
    /** The last version that replaced all before it for good, and the first that has not. */
    private Entry base;

    private Entry later;

    private Sweep(Moment moment) {
      this.moment = moment;
    }

    /** The row at a time, which is not before the one that was asked for last; NULL: there was none. */
    InternalRow at(long time) {
      while (ahead != null && ahead.time() <= time) {
        step();
      }
      return rowAt(found, time);
    }

    private void step() {
      if (moment.watermark() < unasked(ahead.time())) {
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

    void finish() {
      while (ahead != null && past(ahead.time(), moment)) {
        step();
      }
      replaced.forEach(line::remove);
      if (!replaced.isEmpty()) {
        floor = base.time();
      }
      if (base != null) {
        dropIfOver(base);
      }
      Entry replacing = later == null ? ahead : later;
      if (replacing != null) {
        wake(replacing.time(), moment);
      }
    }

    /**
     * Drops the last version of a key, too, if it is a delete or was taken back, and no row can ask for it any more.
     */
    private void dropIfOver(Entry last) {
      long end = row(last) == null ? last.time() : ended(last);
      if (end == Lifetime.NEVER) {
        return;
      }
      if (moment.watermark() >= unasked(end)) {
        line.remove(last);
        floor = Math.max(floor, end);
      } else {
        wake(end, moment);
      }
    }
  }
}
