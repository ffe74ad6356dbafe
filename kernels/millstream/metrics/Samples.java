package millstream.metrics;

import java.io.IOException;
import java.io.ObjectInputStream;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import org.apache.spark.TaskContext;
import org.apache.spark.util.AccumulatorV2;

/**
 * A few of the rows that passed a source, an operator or a sink, for people who look. Every task keeps those of its
 * own; they come to the driver as {@link Counts} do. A row that is read again after a failure may be seen twice.
 */
final class Samples extends AccumulatorV2<Sampled.Line, Sampled> {
  private static final long serialVersionUID = 1L;
  private static final int A_SECOND = 5;
  private static final long SECOND = 1_000_000_000;

  private Sampled kept = Sampled.NONE;
  private transient int taken;
  private transient long since;
  /** The task that this copy belongs to; -1 on the driver. */
  private long task = -1;
  /** On the driver: what running tasks have kept so far. */
  private final transient Map<Long, Sampled> running = new HashMap<>();
  /** Tasks that are merged, of which a heartbeat may still be on its way. */
  private final transient Set<Long> merged = new HashSet<>();

  private void readObject(ObjectInputStream in) throws IOException, ClassNotFoundException {
    in.defaultReadObject();
    TaskContext context = TaskContext.get();
    if (context != null) {
      task = context.taskAttemptId();
    }
  }

  /** Whether the row that passes is to be kept: of a task, five in a second. */
  boolean wants() {
    if (taken < A_SECOND) {
      taken++;
      return true;
    }
    long now = CoarseClock.nanos();
    if (now - since < SECOND) {
      return false;
    }
    since = now;
    taken = 1;
    return true;
  }

  @Override
  public synchronized void add(Sampled.Line line) {
    Sampled one = new Sampled(new ArrayList<>());
    one.lines().add(line);
    kept = kept.with(one);
  }

  @Override
  public synchronized boolean isZero() {
    return kept.lines().isEmpty();
  }

  @Override
  public synchronized AccumulatorV2<Sampled.Line, Sampled> copy() {
    Samples copy = new Samples();
    copy.kept = kept;
    return copy;
  }

  @Override
  public synchronized void reset() {
    kept = Sampled.NONE;
  }

  /** Spark calls this on the driver when a task has ended well. */
  @Override
  public synchronized void merge(AccumulatorV2<Sampled.Line, Sampled> other) {
    long ended = ((Samples) other).task;
    running.remove(ended);
    merged.add(ended);
    kept = kept.with(other.value());
  }

  /** A value is never changed: the heartbeat may send it while the task goes on. */
  @Override
  public synchronized Sampled value() {
    return kept;
  }

  /** A heartbeat says what a task has kept. */
  synchronized void heard(long task, Sampled soFar) {
    if (!merged.contains(task)) {
      running.put(task, soFar);
    }
  }

  /** In real time, tasks end when a run is stopped, or has failed. */
  synchronized void ended(long task) {
    merged.remove(task);
    Sampled last = running.remove(task);
    if (last != null) {
      kept = kept.with(last);
    }
  }

  synchronized Sampled newest() {
    Sampled all = kept;
    for (Sampled soFar : running.values()) {
      all = all.with(soFar);
    }
    return all;
  }
}
