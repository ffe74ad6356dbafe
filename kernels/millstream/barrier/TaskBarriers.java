package millstream.barrier;

import java.io.Closeable;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CopyOnWriteArrayList;
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

  /** The property of a task that reports for how long nothing has come. */
  static final String RESTS = "millstream.barriers.rests";

  private static final long TELL_NANOS = 50_000_000;
  /** If sources may be idle, a task also reports that nothing comes. */
  private static final long REST_NANOS = 150_000_000;

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
  private Gathers stage;
  /** In the order in which rows come through them. */
  private final List<Drains> steps = new CopyOnWriteArrayList<>();

  private final Queue<Busy> busy = new ConcurrentLinkedQueue<>();
  /** The one whose row the stage is about to be handed. */
  private Barrier ringing;
  /** Whether a row is handed over that only lets gathered rows go on. */
  private boolean flushing;

  private Barrier passed;
  /** How long the last barrier took from its first writer to its last. */
  private long alignNanos;

  private final boolean rests;
  private long looked = System.nanoTime();
  private long told = looked;
  private HashMap<Long, Long> seen = new HashMap<>();
  private volatile Throwable failure;

  private TaskBarriers(TaskContext context, String run) {
    this.context = context;
    triggers = Triggers.join(run);
    rests = context.getLocalProperty(RESTS) != null;
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
      // Spark reruns a single task if there is no shuffle. The other tasks would not go back with it.
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

  /** The stage gathers rows: it wants the same row when they have waited for long enough. */
  public void gathers(byte[] handed, Gathers gathering) {
    row = handed;
    stage = gathering;
  }

  /** The task has a step that keeps rows for a while. */
  public void drains(Drains step) {
    steps.add(step);
  }

  /**
   * A user's code that runs now.
   *
   * @param since by the machine's monotonic clock
   */
  public record Busy(String step, long since) {}

  /** Python code of this step runs, until it is done: if a barrier is stuck, the step is reported. */
  public Busy busy(String step) {
    Busy now = new Busy(step, System.nanoTime());
    busy.add(now);
    return now;
  }

  public void done(Busy work) {
    busy.remove(work);
  }

  /** The code that runs now in the tasks of a run, here. */
  static List<Busy> busyIn(Triggers run) {
    List<Busy> found = new ArrayList<>();
    TASKS.values().stream().filter(task -> task.triggers == run).forEach(task -> found.addAll(task.busy));
    return found;
  }

  /** How long gathered rows may still wait, in nanoseconds. */
  long patience() {
    return stage == null ? Long.MAX_VALUE : stage.patience();
  }

  /** The row that the stage is to be handed, by which it lets gathered rows go on. */
  byte[] flush() {
    flushing = true;
    return row;
  }

  /** Whether the row that is handed over now only lets gathered rows go on. */
  public boolean flushes() {
    boolean now = flushing;
    flushing = false;
    return now;
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

  /** Between two records of a source: now and then reports to the driver how far event time is. */
  void tell(String source, long lastRow) {
    long now = System.nanoTime();
    if (now - looked < TELL_NANOS) {
      return;
    }
    looked = now;
    HashMap<Long, Long> times = TaskCounters.of(context).times();
    if (!times.equals(seen) || rests && now - told > REST_NANOS) {
      told = now;
      seen = times;
      triggers.tell(new Wire.Seen(times, source, context.partitionId(), (now - lastRow) / 1_000_000));
    }
  }

  /** The barrier that a source has yet to let pass; NULL: there is none. */
  Barrier due() {
    Barrier last = triggers.last();
    return last == null || passed != null && last.number() <= passed.number() ? null : last;
  }

  /** It has come from all that send rows; the row that the stage is to be handed first, or NULL. */
  byte[] aligned(Barrier barrier, long nanos) {
    alignNanos = nanos;
    Faults.at("barrier.aligned", barrier.epoch());
    ringing = row == null ? null : barrier;
    return row;
  }

  void pass(Barrier barrier) {
    pass(barrier, null);
  }

  /** {@code read}: where a source is. */
  void pass(Barrier barrier, Ack.Read read) {
    steps.forEach(Drains::drain);
    if (out != null) {
      out.send(barrier);
    }
    passed = barrier;
    if (!barrier.light()) {
      save(barrier, read);
    } else if (read != null) {
      // The next one may come when it has passed all sources.
      TaskCounters counters = TaskCounters.of(context);
      BESIDE.execute(() -> report(barrier, read, null, null, null, counters));
    }
  }

  private void save(Barrier barrier, Ack.Read read) {
    TaskCounters counters = TaskCounters.of(context);
    List<Closeable> files = Collections.synchronizedList(new ArrayList<>());
    long begun = System.nanoTime();
    long align = alignNanos;
    SavedState.Saved saved = state == null ? null : state.save(files);
    SealsEpochs.Sealed sealed = sink == null ? null : sink.seal(barrier);
    long stood = System.nanoTime();
    BESIDE.execute(() -> {
      try {
        for (Closeable file : files) {
          file.close();
        }
        Ack.Written written = sealed == null ? null : new Ack.Written(sealed.prepare(), sealed.rows());
        Faults.at("barrier.saved", barrier.epoch());
        Ack.Took took = new Ack.Took(align, stood - begun, System.nanoTime() - stood);
        report(barrier, read, saved, written, took, counters);
      } catch (Throwable error) {
        failure = error;
      }
    });
  }

  private void report(
      Barrier barrier,
      Ack.Read read,
      SavedState.Saved saved,
      Ack.Written written,
      Ack.Took took,
      TaskCounters counters) {
    try {
      triggers.report(new Ack(
          barrier.number(),
          context.partitionId(),
          context.taskAttemptId(),
          read,
          saved,
          written,
          took,
          counters.times(),
          counters.counts()));
    } catch (RuntimeException error) {
      failure = error;
    }
  }
}
