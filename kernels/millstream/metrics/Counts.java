package millstream.metrics;

import java.io.IOException;
import java.io.ObjectInputStream;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.apache.spark.TaskContext;
import org.apache.spark.util.AccumulatorV2;

/**
 * Counts for one source, operator or sink of one run. Every task counts in its own copy.
 *
 * <pre>
 *   task ends    Spark merges its copy into the driver's
 *   task runs    its figures so far come with the executor's heartbeats: in real time tasks last as long as an epoch,
 *                or as the run, where barriers flow; then they come with its reports, too
 * </pre>
 *
 * <p>The fields are plain, and meant to be counted up where rows pass: that costs less than a call.
 */
public final class Counts extends AccumulatorV2<Figures, Figures> {
  private static final long serialVersionUID = 1L;

  public long rowsIn;
  public long rowsOut;
  public long bytes;
  public long late;
  public long skipped;
  public long timersSet;
  public long timersRung;
  public long nanos;

  /** The task that this copy belongs to; -1 on the driver. */
  private long task = -1;

  /** On the driver: what running tasks have counted so far. */
  private final transient Map<Long, Figures> running = new HashMap<>();

  /** On the driver: what running tasks had counted at the last barrier. It stays when they are stopped. */
  private final transient Map<Long, Figures> saved = new HashMap<>();

  /** Tasks that are merged, of which a heartbeat may still be on its way. */
  private final transient Set<Long> merged = new HashSet<>();

  private transient Figures told = Figures.NONE;

  /** What was counted up to each of the last two epochs: one of them is the last that Spark has committed. */
  private final transient TreeMap<Long, Figures> marks = new TreeMap<>();

  public Counts() {}

  private void readObject(ObjectInputStream in) throws IOException, ClassNotFoundException {
    in.defaultReadObject();
    TaskContext context = TaskContext.get();
    if (context != null) {
      task = context.taskAttemptId();
    }
  }

  @Override
  public boolean isZero() {
    return value().equals(Figures.NONE);
  }

  @Override
  public AccumulatorV2<Figures, Figures> copy() {
    Counts copy = new Counts();
    copy.add(value());
    return copy;
  }

  @Override
  public void reset() {
    rowsIn = rowsOut = bytes = late = skipped = timersSet = timersRung = nanos = 0;
  }

  @Override
  public void add(Figures more) {
    rowsIn += more.rowsIn();
    rowsOut += more.rowsOut();
    bytes += more.bytes();
    late += more.late();
    skipped += more.skipped();
    timersSet += more.timersSet();
    timersRung += more.timersRung();
    nanos += more.nanos();
  }

  /** Spark calls this on the driver when a task has ended well. */
  @Override
  public synchronized void merge(AccumulatorV2<Figures, Figures> other) {
    add(other.value());
    long ended = ((Counts) other).task;
    running.remove(ended);
    merged.add(ended);
  }

  @Override
  public Figures value() {
    return new Figures(rowsIn, rowsOut, bytes, late, skipped, timersSet, timersRung, nanos);
  }

  /** A heartbeat says how far a task is. */
  synchronized void heard(long task, Figures soFar) {
    if (!merged.contains(task)) {
      running.put(task, soFar);
    }
  }

  /** A task reports what it had counted when a barrier passed. */
  synchronized void saved(long task, Figures soFar) {
    saved.put(task, soFar);
    running.merge(task, soFar, Figures::max);
  }

  /** No more heartbeats report this task. If it failed, what it counted since the last barrier is gone. */
  synchronized void ended(long task) {
    running.remove(task);
    merged.remove(task);
    Figures counted = saved.remove(task);
    if (counted != null) {
      add(counted);
    }
  }

  /** All tasks of an epoch have ended, or have let its barrier pass. */
  synchronized void mark(long epoch) {
    Figures counted = value();
    for (Figures part : saved.values()) {
      counted = counted.plus(part);
    }
    marks.put(epoch, counted);
    while (marks.size() > 2) {
      marks.pollFirstEntry();
    }
  }

  /** A run continues after this epoch: it reads what came later again, and counts it again. */
  synchronized void back(long epoch) {
    Map.Entry<Long, Figures> last = marks.floorEntry(epoch);
    reset();
    add(last == null ? Figures.NONE : last.getValue());
    running.clear();
    saved.clear();
  }

  /** All that is known now. Never less than before: readers compute rates. */
  synchronized Figures sum() {
    Figures sum = value();
    for (Figures soFar : running.values()) {
      sum = sum.plus(soFar);
    }
    told = told.max(sum);
    return told;
  }
}
