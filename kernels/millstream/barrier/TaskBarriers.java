package millstream.barrier;

import java.io.Closeable;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import millstream.faults.Faults;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider.RocksDBStateStore;
import org.apache.spark.sql.execution.streaming.state.StateStore;
import org.apache.spark.util.TaskCompletionListener;

/**
 * What one task does at a barrier.
 *
 * <pre>
 *   asks for the next row: all rows before it have been sent on or written
 *     ─▶ the barrier is sent on ─▶ state is saved, the sinks' epoch is sealed ─▶ the next row
 *                                      ╰─ beside it: files are synced, rows prepared ─▶ it reports
 * </pre>
 *
 * <p>All but what is done beside it happens on the task's own thread.
 */
public final class TaskBarriers {
  /** The property of a task that names its run; if there is none, it runs without barriers. */
  public static final String RUN = "millstream.barriers";

  private static final long TELL_NANOS = 50_000_000;

  private static final ConcurrentHashMap<Long, TaskBarriers> TASKS = new ConcurrentHashMap<>();

  private static final ExecutorService BESIDE = Executors.newCachedThreadPool(work -> {
    Thread thread = new Thread(work, "millstream checkpoint");
    thread.setDaemon(true);
    return thread;
  });

  private final TaskContext context;
  private final Triggers triggers;
  private ShuffleOut<?, ?> out;
  private SealsEpochs sink;
  private SavedState state;
  private byte[] row;
  /** The one whose row the stage is about to be handed. */
  private Barrier ringing;

  private Barrier passed;
  private long told = System.nanoTime();
  private HashMap<Long, Long> seen = new HashMap<>();
  private volatile Throwable failure;

  private TaskBarriers(TaskContext context, String run) {
    this.context = context;
    triggers = Triggers.join(run);
    TaskCompletionListener end = ended -> end();
    context.addTaskCompletionListener(end);
  }

  private void end() {
    TASKS.remove(context.taskAttemptId());
    triggers.leave();
  }

  /** Those of the task that runs on this thread; NULL: there is none, or it runs without barriers. */
  public static TaskBarriers here() {
    TaskContext context = TaskContext.get();
    return context == null ? null : of(context);
  }

  static TaskBarriers of(TaskContext context) {
    String run = context.getLocalProperty(RUN);
    if (run == null) {
      return null;
    }
    if (context.attemptNumber() > 0) {
      // Spark runs a task again by itself where no shuffle is. The others would not go back with it.
      throw new IllegalStateException("a task of a run with barriers is not repeated alone");
    }
    return TASKS.computeIfAbsent(context.taskAttemptId(), id -> new TaskBarriers(context, run));
  }

  void out(ShuffleOut<?, ?> writer) {
    out = writer;
  }

  /** The task writes to sinks. */
  public void sink(SealsEpochs writer) {
    sink = writer;
  }

  /** The task keeps state. */
  public void state(StateStore store) {
    state = new SavedState((RocksDBStateStore) store);
  }

  /** The stage wants this row at every barrier, to say what ends with it. */
  public void timed(byte[] handed) {
    row = handed;
  }

  /** The barrier whose row is handed over now; NULL: it is an ordinary row. */
  public Barrier rings() {
    Barrier now = ringing;
    ringing = null;
    return now;
  }

  /** The last that has passed; NULL: none has. */
  public Barrier passed() {
    return passed;
  }

  /** Throws what has gone wrong beside the task. */
  void check() {
    if (failure != null) {
      throw new IllegalStateException("a checkpoint failed: " + failure.getMessage(), failure);
    }
  }

  /** Between two records of a source: now and then the driver is told how far event time is. */
  void tell() {
    long now = System.nanoTime();
    if (now - told < TELL_NANOS) {
      return;
    }
    told = now;
    HashMap<Long, Long> times = TaskCounters.of(context).times();
    if (!times.equals(seen)) {
      seen = times;
      triggers.tell(new Wire.Seen(times));
    }
  }

  /** The barrier that a source has yet to let pass; NULL: there is none. */
  Barrier due() {
    Barrier last = triggers.last();
    return last == null || passed != null && last.number() <= passed.number() ? null : last;
  }

  /** It has come from all that send rows; the row that the stage is to be handed first, or NULL. */
  byte[] aligned(Barrier barrier) {
    Faults.at("barrier.aligned", barrier.epoch());
    ringing = row == null ? null : barrier;
    return row;
  }

  void pass(Barrier barrier) {
    pass(barrier, null);
  }

  /** {@code read}: where a source is. */
  void pass(Barrier barrier, Ack.Read read) {
    if (out != null) {
      out.send(barrier);
    }
    passed = barrier;
    if (!barrier.light()) {
      save(barrier, read);
    } else if (read != null) {
      // The next one may come when it has passed all sources.
      TaskCounters counters = TaskCounters.of(context);
      BESIDE.execute(() -> report(barrier, read, null, null, counters));
    }
  }

  private void save(Barrier barrier, Ack.Read read) {
    TaskCounters counters = TaskCounters.of(context);
    List<Closeable> files = new ArrayList<>();
    SavedState.Saved saved = state == null ? null : state.save(files);
    SealsEpochs.Sealed sealed = sink == null ? null : sink.seal(barrier);
    BESIDE.execute(() -> {
      try {
        for (Closeable file : files) {
          file.close();
        }
        Ack.Written written = sealed == null ? null : new Ack.Written(sealed.prepare(), sealed.rows());
        Faults.at("barrier.saved", barrier.epoch());
        report(barrier, read, saved, written, counters);
      } catch (Throwable error) {
        failure = error;
      }
    });
  }

  private void report(
      Barrier barrier, Ack.Read read, SavedState.Saved saved, Ack.Written written, TaskCounters counters) {
    try {
      triggers.report(new Ack(
          barrier.number(),
          context.partitionId(),
          context.taskAttemptId(),
          read,
          saved,
          written,
          counters.times(),
          counters.counts()));
    } catch (RuntimeException error) {
      failure = error;
    }
  }
}
