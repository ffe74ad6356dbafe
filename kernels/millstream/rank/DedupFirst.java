package millstream.rank;

import java.util.ArrayList;
import java.util.Collections;
import java.util.Iterator;
import java.util.List;
import java.util.TreeSet;
import millstream.operator.Moment;
import millstream.operator.OperatorSpec;
import millstream.row.Change;
import millstream.row.Changes;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.streaming.StatefulProcessorHandle;
import org.apache.spark.sql.types.DataTypes;

/**
 * Lets a row through if none of its key was let through that is close to it in event time.
 *
 * <pre>
 *   a row at t duplicates one at k:       k - within &lt;= t &lt;= k + within
 *   a row is too late to be judged:       watermark &gt;= t + lateness, which is within, or longer if rows had to wait before
 *   so is one without a time
 *   k can be forgotten:                   watermark &gt;= k + within + lateness: any duplicate of it is too late
 * </pre>
 */
public final class DedupFirst extends Dedup {
  private static final long serialVersionUID = 1L;

  private transient TreeSet<Long> times;

  DedupFirst(OperatorSpec spec, Told told) {
    super(spec, told, 0);
  }

  @Override
  public void open(StatefulProcessorHandle handle) {
    open(handle, "times", DataTypes.LongType);
  }

  @Override
  public Iterator<Change> process(InternalRow key, Changes changes, Moment moment) {
    loadTimes();
    List<InternalRow> rows = new ArrayList<>();
    while (changes.next()) {
      InternalRow row = changes.payload();
      if (inTime(row, changes.weight(), moment)) {
        rows.add(row.copy());
      }
    }
    rows.sort(order);
    List<Change> out = new ArrayList<>();
    for (InternalRow row : rows) {
      if (isNew(at(row))) {
        times.add(at(row));
        out.add(new Change(row, 1));
      }
    }
    saveTimes();
    return out.iterator();
  }

  private boolean isNew(long at) {
    Long before = times.floor(at);
    Long after = times.ceiling(at);
    return (before == null || at - before > within) && (after == null || after - at > within);
  }

  @Override
  public Iterator<Change> expired(InternalRow key, long at, Moment moment) {
    loadTimes();
    alarm.ring(at);
    times.removeIf(kept -> moment.watermark() >= forgotten(kept));
    saveTimes();
    return Collections.emptyIterator();
  }

  private long forgotten(long kept) {
    return decided(kept) + within / 1000;
  }

  private void loadTimes() {
    times = new TreeSet<>();
    ArrayData entries = load();
    for (int i = 0; entries != null && i < entries.numElements(); i++) {
      times.add(entries.getLong(i));
    }
  }

  private void saveTimes() {
    if (times.isEmpty()) {
      clear();
    } else {
      save(times.toArray(), forgotten(times.first()));
    }
  }
}
