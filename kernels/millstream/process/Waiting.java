package millstream.process;

import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import millstream.operator.Moment;
import millstream.row.Change;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.statefulprocessor.ImplicitGroupingKeyTracker;

/** Rows that come one by one, as in real time, until they are handed over: by key, in the order in which they came. */
final class Waiting {
  private static final int ROWS = 4_096;
  /** If no row comes for this long, the input pauses. */
  private static final long PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(1);

  private final long waitNanos;
  private final Map<InternalRow, List<InternalRow>> rows = new LinkedHashMap<>();
  private int count;
  private long first;
  private long last;

  Waiting(long waitMillis) {
    waitNanos = TimeUnit.MILLISECONDS.toNanos(waitMillis);
  }

  void add(InternalRow key, InternalRow row) {
    last = System.nanoTime();
    first = count++ == 0 ? last : first;
    List<InternalRow> own = rows.get(key);
    if (own == null) {
      own = new ArrayList<>(1);
      rows.put(key.copy(), own);
    }
    own.add(row.copy());
  }

  boolean isEmpty() {
    return count == 0;
  }

  boolean isFull() {
    return count >= ROWS || rows.size() >= Load.KEYS;
  }

  /** How long they may still wait, in nanoseconds. */
  long patience() {
    long now = System.nanoTime();
    return isEmpty() ? Long.MAX_VALUE : Math.min(first + waitNanos - now, last + PAUSE_NANOS - now);
  }

  /** Hands them over: each key with its state, once. */
  Iterator<Change> hand(Load load, InternalRow current, Moment moment) {
    rows.forEach((key, own) -> {
      ImplicitGroupingKeyTracker.setImplicitKey(key);
      own.forEach(load::add);
      load.addKey(Process.ROWS_OF_KEY, 0, own.size());
    });
    rows.clear();
    count = 0;
    return load.hand(current, moment);
  }
}
