package millstream.barrier;

import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import millstream.checkpoint.History;
import millstream.faults.Faults;
import millstream.metrics.Meters;
import org.apache.spark.SparkEnv;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.streaming.runtime.MicroBatchExecution;
import org.apache.spark.sql.execution.streaming.runtime.StreamingQueryWrapper;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.streaming.StreamingQueryListener;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Sends barriers through a running query, one after the other, and commits an epoch when all tasks have reported.
 *
 * <pre>
 *   trigger ─▶ sources ═▶ stages ═▶ sinks        (the barrier flows with the rows)
 *                 ╰─────────┴────────┴─▶ reports ─▶ prepared, offsets logged, committed ─▶ published
 * </pre>
 */
public final class Coordinator extends StreamingQueryListener implements AutoCloseable {
  private static final long serialVersionUID = 1L;
  private static final Logger LOG = LoggerFactory.getLogger(Coordinator.class);
  private static final long LOOK_MILLIS = 50;
  /** If epochs are longer, time also moves between barriers. */
  private static final long LIGHT_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

  /** How often sources are asked whether they have more partitions. */
  private static final long DISCOVER_NANOS = TimeUnit.SECONDS.toNanos(5);

  private final transient SparkSession session;
  private final String job;
  private final String run = "millstream-barriers-" + UUID.randomUUID();
  private final long everyNanos;
  private final long pauseNanos;
  private final long patienceNanos;
  private final int tolerate;
  private final transient History history;
  private final transient Endpoint endpoint;
  /** NULL: no source has a time. */
  private transient volatile IdleSources idle;

  private transient volatile MicroBatchExecution query;
  private transient Thread thread;
  private volatile boolean closed;
  private volatile boolean outgrown;
  private long looked = System.nanoTime();
  private transient volatile Throwable failure;
  private long number;
  /** How far event time has come with the barriers of this run. */
  private long applied;

  private Coordinator(SparkSession session, String job, Pace pace, History history) {
    this.session = session;
    this.job = job;
    this.everyNanos = TimeUnit.MILLISECONDS.toNanos(pace.everyMillis());
    this.pauseNanos = TimeUnit.MILLISECONDS.toNanos(pace.pauseMillis());
    this.patienceNanos = TimeUnit.MILLISECONDS.toNanos(pace.patienceMillis());
    this.tolerate = pace.tolerate();
    this.history = history;
    endpoint = new Endpoint(SparkEnv.get().rpcEnv(), run, session.sharedState().jarClassLoader());
  }

  /**
   * When barriers are sent, in milliseconds.
   *
   * @param everyMillis from one to the next
   * @param pauseMillis at least, from the end of one to the next
   * @param patienceMillis within which all tasks must have reported
   * @param tolerate how many more times in a row it waits that long
   */
  public record Pace(long everyMillis, long pauseMillis, long patienceMillis, int tolerate) {}

  /** For a query that is about to be started. */
  public static Coordinator of(SparkSession session, String job, Pace pace, History history) {
    Coordinator made = new Coordinator(session, job, pace, history);
    session.conf().set(TaskBarriers.RUN, made.run);
    session.streams().addListener(made);
    return made;
  }

  /** What lets event time move without idle sources. To be called before the query is started. */
  public void goBy(IdleSources sources) {
    idle = sources;
  }

  /** Whether these are the settings of a run with barriers. */
  public static boolean named(SQLConf settings) {
    return settings.contains(TaskBarriers.RUN);
  }

  /** Spark calls it on the query's own thread, before it plans anything: tasks will have its properties. */
  @Override
  public void onQueryStarted(QueryStartedEvent event) {
    if (query != null || !job.equals(event.name())) {
      return;
    }
    session.sparkContext().setLocalProperty(TaskBarriers.RUN, run);
    session.sparkContext().setLocalProperty(TaskBarriers.RESTS, idle != null && idle.rests() ? "true" : null);
    StreamingQueryWrapper started = (StreamingQueryWrapper) session.streams().get(event.id());
    query = (MicroBatchExecution) started.streamingQuery();
    thread = new Thread(this::run, "millstream coordinator");
    thread.setDaemon(true);
    thread.start();
  }

  @Override
  public void onQueryProgress(QueryProgressEvent event) {}

  @Override
  public void onQueryTerminated(QueryTerminatedEvent event) {}

  private void run() {
    try {
      while (!endpoint.first().await(LOOK_MILLIS, TimeUnit.MILLISECONDS)) {
        if (over()) {
          return;
        }
      }
      SparkSession.setActiveSession(query.sparkSessionForStream());
      SparkEpochs epochs = new SparkEpochs(query);
      boolean lights = epochs.timed() && everyNanos > 2 * LIGHT_NANOS;
      long next = System.nanoTime() + everyNanos;
      while (rest(lights ? Math.min(next, System.nanoTime() + LIGHT_NANOS) : next)) {
        if (System.nanoTime() < next) {
          light(epochs);
        } else {
          next = System.nanoTime() + everyNanos;
          checkpoint(epochs);
          next = Math.max(next, System.nanoTime() + pauseNanos);
          look(epochs);
        }
      }
    } catch (InterruptedException stopped) {
      // The run is over.
    } catch (Throwable error) {
      fail(error);
    }
  }

  private void look(SparkEpochs epochs) {
    if (System.nanoTime() - looked > DISCOVER_NANOS && !over()) {
      looked = System.nanoTime();
      outgrown = epochs.outgrown();
    }
  }

  /** Whether a source has partitions that no task reads: the query must be planned again. */
  public boolean outgrown() {
    return outgrown;
  }

  private boolean over() {
    return closed || !query.isActive();
  }

  /** Waits until then; false: the run is over. */
  private boolean rest(long until) throws InterruptedException {
    for (long left = until - System.nanoTime(); left > 0 && !over(); left = until - System.nanoTime()) {
      TimeUnit.NANOSECONDS.sleep(Math.min(left, TimeUnit.MILLISECONDS.toNanos(LOOK_MILLIS)));
    }
    return !over();
  }

  /** If event time has moved: what ends by then need not wait for the next checkpoint. */
  private void light(SparkEpochs epochs) throws InterruptedException {
    long watermark = epochs.watermark(endpoint, idle);
    if (watermark > applied) {
      applied = watermark;
      // The clock stands still within an epoch.
      Barrier barrier = new Barrier(number++, epochs.number(), true, watermark, epochs.begun(), -1);
      epochs.hear(barrier);
      long begun = System.nanoTime();
      endpoint.trigger(barrier);
      reports(barrier, epochs.sources(), begun);
    }
  }

  private void checkpoint(SparkEpochs epochs) throws InterruptedException {
    applied = Math.max(applied, epochs.watermark(endpoint, idle));
    Barrier barrier = new Barrier(number++, epochs.number(), false, applied, epochs.clock(), epochs.published());
    epochs.begin(barrier);
    Faults.at("barrier.trigger", barrier.epoch());
    long begun = System.nanoTime();
    endpoint.trigger(barrier);
    List<Ack> acks = reports(barrier, epochs.tasks(), begun);
    if (acks == null) {
      return;
    }
    long millis = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - begun);
    Faults.at("barrier.acked", barrier.epoch());
    Meters meters = Meters.of(session);
    acks.forEach(ack -> meters.saved(ack.task(), ack.counts()));
    epochs.commit(acks);
    // Readers of committed rows do not wait for the reports on the epoch.
    epochs.published();
    history.tasks(
        barrier.epoch(),
        acks.stream()
            .filter(ack -> ack.state() != null)
            .map(ack -> task(epochs, ack))
            .toList());
    epochs.end(acks, millis);
  }

  private static History.Task task(SparkEpochs epochs, Ack ack) {
    Ack.Took took = ack.took();
    return new History.Task(
        epochs.stage(ack), ack.partition(), millis(took.align()), millis(took.save()), millis(took.sync()));
  }

  private static long millis(long nanos) {
    return TimeUnit.NANOSECONDS.toMillis(nanos);
  }

  /** Of all tasks; NULL: the run is over. */
  private List<Ack> reports(Barrier barrier, int tasks, long begun) throws InterruptedException {
    List<Ack> found = new ArrayList<>();
    int late = 0;
    while (found.size() < tasks) {
      Ack ack = endpoint.acks().poll(LOOK_MILLIS, TimeUnit.MILLISECONDS);
      if (ack != null && ack.number() == barrier.number()) {
        found.add(ack);
      } else if (over()) {
        return null;
      } else if (System.nanoTime() - begun > (late + 1) * patienceNanos) {
        long waited = millis((late + 1) * patienceNanos);
        late(BarrierException.late(barrier, found.size(), tasks, waited, endpoint.working()), barrier, late++);
      }
    }
    return found;
  }

  /** No number may be skipped: a late barrier is awaited again, up to {@code tolerate} times. */
  private void late(BarrierException error, Barrier barrier, int before) {
    if (before >= tolerate) {
      throw error;
    }
    history.failed(barrier.epoch(), error.getMessage());
    LOG.warn("{} It is waited for.", error.getMessage());
  }

  /** Ends the query, which then says why. */
  private void fail(Throwable error) {
    if (over()) {
      return;
    }
    failure = error;
    LOG.error("no more barriers pass", error);
    session.sparkContext().cancelJobGroup(query.runId().toString(), String.valueOf(error.getMessage()));
  }

  /** Throws what has gone wrong. */
  public void check() {
    if (failure != null) {
      throw new IllegalStateException(failure.getMessage(), failure);
    }
  }

  /** No more barriers. Called before the query is stopped; a commit that has begun completes. */
  @Override
  public synchronized void close() {
    if (closed) {
      return;
    }
    closed = true;
    session.streams().removeListener(this);
    try {
      if (thread != null) {
        thread.join();
      }
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
    }
    endpoint.close();
  }
}
