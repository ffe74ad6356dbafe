package millstream.rank;

import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.Iterator;
import java.util.List;
import millstream.operator.Moment;
import millstream.operator.OperatorSpec;
import millstream.row.Change;
import millstream.row.Changes;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.streaming.StatefulProcessorHandle;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/**
 * Lets a row through if none of its key follows it closely in event time; that is known when time has moved on.
 *
 * <pre>
 *   a row at t is dropped for one at n:   t &lt;= n &lt;= t + within; of rows of the same time, the last by all fields is left
 *   it is let through, and forgotten:     watermark &gt; t + lateness, which is within, or longer if rows had to wait before
 *   it is too late to be judged:          then, too; or if it has no time
 *
 *   one value per key:  timer, runs [start, the last row] in the order of time
 * </pre>
 *
 * <p>In a run, each row follows another closely: whatever comes between its start and its last row, or shortly before,
 * is dropped.
 */
public final class DedupLast extends Dedup {
  private static final long serialVersionUID = 1L;

  /** In the order of time, further apart than {@link #within}. */
  private transient List<Run> runs;

  private record Run(long start, InternalRow last) {}

  DedupLast(OperatorSpec spec, Told told) {
    // A row that is just so much later than another is not late before that one goes out.
    super(spec, told, 1);
  }

  @Override
  public void open(StatefulProcessorHandle handle) {
    StructType run = new StructType().add("start", DataTypes.LongType, false).add("last", rowType, false);
    open(handle, "runs", run);
  }

  @Override
  public Iterator<Change> process(InternalRow key, Changes changes, Moment moment) {
    loadRuns();
    while (changes.next()) {
      InternalRow row = changes.payload();
      if (inTime(row, changes.weight(), moment)) {
        runs.add(new Run(at(row), row.copy()));
      }
    }
    join();
    saveRuns();
    return Collections.emptyIterator();
  }

  /** Makes one of runs that follow one another closely. */
  private void join() {
    runs.sort(Comparator.comparingLong(Run::start));
    List<Run> apart = new ArrayList<>();
    for (Run run : runs) {
      Run before = apart.isEmpty() ? null : apart.get(apart.size() - 1);
      if (before == null || run.start - at(before.last) > within) {
        apart.add(run);
      } else {
        InternalRow last = order.compare(before.last, run.last) > 0 ? before.last : run.last;
        apart.set(apart.size() - 1, new Run(before.start, last));
      }
    }
    runs = apart;
  }

  /** Time has moved on: nothing can follow some rows any more. */
  @Override
  public Iterator<Change> expired(InternalRow key, long at, Moment moment) {
    loadRuns();
    alarm.ring(at);
    List<Change> out = new ArrayList<>();
    while (!runs.isEmpty() && moment.watermark() >= leaves(runs.get(0))) {
      out.add(new Change(runs.remove(0).last, 1));
    }
    saveRuns();
    return out.iterator();
  }

  /** The watermark at which the last row of a run goes out. */
  private long leaves(Run run) {
    return decided(at(run.last));
  }

  private void loadRuns() {
    runs = new ArrayList<>();
    ArrayData entries = load();
    for (int i = 0; entries != null && i < entries.numElements(); i++) {
      InternalRow entry = entries.getStruct(i, 2);
      runs.add(new Run(entry.getLong(0), entry.getStruct(1, rowType.length()).copy()));
    }
  }

  private void saveRuns() {
    if (runs.isEmpty()) {
      clear();
    } else {
      Object[] entries = runs.stream()
          .map(run -> new GenericInternalRow(new Object[] {run.start, run.last}))
          .toArray();
      save(entries, leaves(runs.get(0)));
    }
  }
}
