package millstream.time;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.time.Instant;
import java.util.Arrays;
import java.util.Map;
import java.util.OptionalLong;
import java.util.UUID;
import java.util.function.ToLongFunction;
import millstream.barrier.IdleSources;
import millstream.commit.Decisions;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.plans.logical.EventTimeWatermark;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.streaming.runtime.MicroBatchExecution;
import org.apache.spark.sql.execution.streaming.runtime.WatermarkTracker;
import org.apache.spark.sql.streaming.StreamingQueryProgress;
import scala.Option;

/**
 * Lets time move without idle sources, and says which of the others holds it back.
 *
 * <pre>
 *   some are active    the watermark is the least of theirs
 *   all are idle       it continues from the greatest with the clock, until every window is closed
 * </pre>
 *
 * <p>Spark's own rule takes the least of all. What is added here only ever moves the watermark forward; Spark logs it
 * with the next epoch, so that it is the same after a restart.
 */
public final class Clock implements AutoCloseable, IdleSources {
  private static final long LOOK_MS = 100;

  private final Timed[] sources;
  /** How often sources are asked for rows; in real time always. */
  private final long every;

  private final boolean realTime;
  /** Whether sources may be idle; not where a query processes what there is, and ends. */
  private final boolean rests;

  /** Whether the job has operators that an epoch without rows may concern. */
  private final boolean stateful;

  /** How long after a row its last window is closed. */
  private final long horizon;

  private volatile MicroBatchExecution query;
  private volatile boolean closed;
  private StreamingQueryProgress last;
  private long lastAt;
  private long restored = -1;

  private Clock(JsonNode spec, long every, boolean realTime) {
    this.every = every;
    this.realTime = realTime;
    this.rests = spec.get("rests").asBoolean();
    this.stateful = spec.get("stateful").asBoolean();
    this.horizon = spec.get("horizon_ms").asLong();
    this.lastAt = System.currentTimeMillis();
    JsonNode listed = spec.get("sources");
    this.sources = new Timed[listed.size()];
    for (int i = 0; i < sources.length; i++) {
      sources[i] = new Timed(listed.get(i), lastAt);
    }
  }

  /** The clock of a query that is about to be started; its {@code spec} lists the sources with a time. */
  public static Clock of(String spec, long every, boolean realTime) {
    try {
      return new Clock(new ObjectMapper().readTree(spec), every, realTime);
    } catch (JsonProcessingException error) {
      throw new IllegalArgumentException("not JSON: " + spec, error);
    }
  }

  /** How far each source is; NULL: there is one only, and Spark keeps how far it is. */
  Watermarks watermarks(MicroBatchExecution running, Decisions decisions) {
    return sources.length > 1 ? new Watermarks(running, sources, decisions) : null;
  }

  /** Whether an epoch without rows is run when the watermark has moved; in real time there is always another one. */
  boolean waits() {
    return stateful && !realTime;
  }

  /** To be called before the query's first epoch. */
  void start(MicroBatchExecution running, Watermarks watermarks) {
    query = running;
    Propagation.install(running, watermarks);
    if (rests()) {
      Thread thread = new Thread(this::watch, "millstream clock");
      thread.setDaemon(true);
      thread.start();
    }
  }

  /** Under which name Spark keeps the watermark of a source. */
  public static String watermark(Dataset<Row> source) {
    LogicalPlan plan = source.queryExecution().analyzed();
    while (!(plan instanceof EventTimeWatermark)) {
      plan = plan.children().head();
    }
    return ((EventTimeWatermark) plan).nodeId().toString();
  }

  /** The source whose time is the least, of those that are not idle; NULL: none. */
  public synchronized String heldBackBy() {
    WatermarkTracker tracker = query == null ? null : query.watermarkTracker();
    Timed least = null;
    for (Timed source : sources) {
      boolean less = least == null || tracker != null && said(tracker, source) < said(tracker, least);
      least = !source.idle() && less ? source : least;
    }
    return least == null ? null : least.name;
  }

  /** By source, how far it is, 0 if it has had no row, and whether it is idle: as JSON. */
  public synchronized String sources() {
    WatermarkTracker tracker = query == null ? null : query.watermarkTracker();
    ObjectNode found = JsonNodeFactory.instance.objectNode();
    for (Timed source : sources) {
      long said = tracker == null ? 0 : said(tracker, source);
      found.putObject(source.name).put("watermark", said).put("idle", source.idle());
    }
    return found.toString();
  }

  private void watch() {
    while (!closed) {
      try {
        Thread.sleep(LOOK_MS);
      } catch (InterruptedException stopped) {
        return;
      }
      look(System.currentTimeMillis());
    }
  }

  /** What an epoch did not read from a source is only known for the moment at which it asked. */
  private synchronized void look(long now) {
    boolean waiting = !query.status().isTriggerActive();
    StreamingQueryProgress progress = query.lastProgress();
    if (progress != null && progress != last) {
      last = progress;
      lastAt = now;
      for (Timed source : sources) {
        source.note(progress.sources(), now);
      }
      move(realTime ? now : Instant.parse(progress.timestamp()).toEpochMilli());
    } else if (waiting && now - lastAt >= every + 2 * LOOK_MS) {
      move(now);
    }
  }

  @Override
  public boolean rests() {
    return rests && Arrays.stream(sources).anyMatch(Timed::mayRest);
  }

  @Override
  public synchronized long now(Map<UUID, Long> quiet, Map<UUID, Long> said) {
    long now = System.currentTimeMillis();
    long current = query.watermarkTracker().currentWatermark();
    restored = restored < 0 ? current : restored;
    for (Timed source : sources) {
      source.rest(quiet.get(source.watermark), now);
    }
    return next(source -> said.getOrDefault(source.watermark, 0L), now, current);
  }

  private void move(long known) {
    WatermarkTracker tracker = query.watermarkTracker();
    if (tracker == null) {
      return;
    }
    synchronized (tracker) {
      long current = tracker.currentWatermark();
      restored = restored < 0 ? current : restored;
      for (Timed source : sources) {
        source.judge(known);
      }
      long next = next(source -> said(tracker, source), known, current);
      if (next > current) {
        tracker.setWatermark(next);
      }
    }
  }

  private long next(ToLongFunction<Timed> saidBy, long known, long current) {
    OptionalLong least = Arrays.stream(sources)
        .filter(source -> !source.idle())
        .mapToLong(saidBy)
        .min();
    return least.isPresent() ? least.getAsLong() : alone(saidBy, known, current);
  }

  /** All are idle. Time moves in steps: each is an epoch. */
  private long alone(ToLongFunction<Timed> saidBy, long known, long current) {
    long from = restored;
    long end = restored;
    long since = 0;
    long step = Long.MAX_VALUE;
    for (Timed source : sources) {
      long said = saidBy.applyAsLong(source);
      from = Math.max(from, said);
      end = Math.max(end, Math.max(said, restored) + source.lateness);
      since = Math.max(since, source.activeAt());
      step = Math.min(step, source.idleAfter());
    }
    if (from == 0) {
      return current;
    }
    end += horizon;
    long next = Math.min(from + known - since, end);
    return next == end || next - current >= step ? next : current;
  }

  /** How far a source is; 0 if it has never said so. */
  static long said(WatermarkTracker tracker, Timed source) {
    UUID name = source.watermark;
    Option<Option<Object>> found = tracker.watermarkMap().get(name);
    return found.isEmpty() || found.get().isEmpty() ? 0 : (Long) found.get().get();
  }

  @Override
  public void close() {
    closed = true;
  }
}
