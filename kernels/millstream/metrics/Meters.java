package millstream.metrics;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.Map;
import java.util.TreeMap;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import org.apache.spark.SparkContext;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.streaming.StreamingQuery;
import org.apache.spark.sql.types.StructType;

/**
 * All that is counted in one run. Its session has its name as a setting, by which kernels find it: two runs never share
 * one, whatever their steps are called.
 */
public final class Meters implements AutoCloseable {
  /** The setting of a session, and the option of a write, that names the run. */
  public static final String NAME = "millstream.run";

  /** The setting of a session that lets people look at rows. */
  private static final String ROWS = "spark.millstream.rows";

  private static final Map<String, Meters> RUNNING = new ConcurrentHashMap<>();
  private static final ObjectMapper JSON = new ObjectMapper();

  private final SparkContext context;
  private final String name = UUID.randomUUID().toString();
  private final Map<String, Counts> sources = new TreeMap<>();
  private final Map<String, Counts> operators = new TreeMap<>();
  private final Map<String, Counts> sinks = new TreeMap<>();
  private final Map<String, Long> watermarks = new TreeMap<>();
  /** By box of the job's graph, such as {@code source:orders}. */
  private final Map<String, Samples> samples = new TreeMap<>();

  private final Epochs epochs = new Epochs();
  private final Heartbeats heartbeats = new Heartbeats(this);
  private SparkSession session;
  private boolean shows;
  private long prepared = -1;

  private Meters(SparkContext context) {
    this.context = context;
  }

  /** For a run that begins. */
  public static Meters open(SparkSession session) {
    Meters meters = new Meters(session.sparkContext());
    RUNNING.put(meters.name, meters);
    meters.context.addSparkListener(meters.heartbeats);
    return meters;
  }

  /** What is built in this session from now on is counted here. */
  public synchronized void into(SparkSession session) {
    session.conf().set(NAME, name);
    leave();
    session.streams().addListener(epochs);
    this.session = session;
    shows = session.conf().get(ROWS, "false").equals("true");
  }

  private void leave() {
    if (session != null) {
      session.streams().removeListener(epochs);
    }
  }

  /** Those of the run that the session belongs to; if it belongs to none, some that are never read. */
  public static Meters of(SparkSession session) {
    return named(session.conf().get(NAME, ""), session.sparkContext());
  }

  public static Meters named(String name, SparkContext context) {
    Meters found = RUNNING.get(name);
    return found == null ? new Meters(context) : found;
  }

  public String name() {
    return name;
  }

  public Counts source(String name) {
    return counts(sources, name);
  }

  public Counts operator(String name) {
    return counts(operators, name);
  }

  public Counts sink(String name) {
    return counts(sinks, name);
  }

  private synchronized Counts counts(Map<String, Counts> kind, String name) {
    return kind.computeIfAbsent(name, added -> {
      Counts counts = new Counts();
      context.register(counts);
      return counts;
    });
  }

  /** Null: nobody may look at rows. */
  public Tap sourceTap(String name, StructType type) {
    return tap("source:" + name, type);
  }

  public Tap operatorTap(String name, StructType type) {
    return tap("operator:" + name, type);
  }

  public Tap sinkTap(String name, StructType type) {
    return tap("sink:" + name, type);
  }

  private synchronized Tap tap(String box, StructType type) {
    if (!shows) {
      return null;
    }
    return new Tap(
        samples.computeIfAbsent(box, added -> {
          Samples made = new Samples();
          context.register(made);
          return made;
        }),
        type);
  }

  /** How far time has come for an operator. */
  public synchronized void watermark(String operator, long millis) {
    watermarks.put(operator, millis);
  }

  /** All rows of an epoch are prepared. */
  public synchronized void prepared(long epoch) {
    prepared = epoch;
    each(counts -> counts.mark(epoch));
  }

  /** A run starts, or starts again after a failure. Where Spark's own sink drops all rows, nothing marks epochs. */
  public synchronized void begin(long committed) {
    if (!sinks.isEmpty()) {
      each(counts -> counts.back(committed));
    }
  }

  public void follow(StreamingQuery query) {
    epochs.follow(query);
  }

  synchronized void heard(long id, long task, Figures soFar) {
    each(counts -> {
      if (counts.id() == id) {
        counts.heard(task, soFar);
      }
    });
  }

  /** A task reports, by accumulator, what it had counted when a barrier passed. */
  public synchronized void saved(long task, Map<Long, Figures> counted) {
    each(counts -> {
      Figures own = counted.get(counts.id());
      if (own != null) {
        counts.saved(task, own);
      }
    });
  }

  synchronized void heard(long id, long task, Sampled soFar) {
    samples.values().stream().filter(kept -> kept.id() == id).forEach(kept -> kept.heard(task, soFar));
  }

  synchronized void ended(long task) {
    each(counts -> counts.ended(task));
    samples.values().forEach(kept -> kept.ended(task));
  }

  private void each(Consumer<Counts> act) {
    sources.values().forEach(act);
    operators.values().forEach(act);
    sinks.values().forEach(act);
  }

  /** What {@link #read} gives. */
  private record Reading(
      Map<String, Figures> sources,
      Map<String, Figures> operators,
      Map<String, Figures> sinks,
      Map<String, Long> watermarks,
      Epochs.Sum epochs,
      long prepared) {}

  /** All figures, as JSON. */
  public synchronized String read() throws JsonProcessingException {
    return JSON.writeValueAsString(
        new Reading(sums(sources), sums(operators), sums(sinks), watermarks, epochs.sum(), prepared));
  }

  /** By box of the job's graph, the last few rows that passed, as JSON. */
  public synchronized String rows() throws JsonProcessingException {
    Map<String, Sampled> newest = new TreeMap<>();
    samples.forEach((box, kept) -> newest.put(box, kept.newest()));
    return JSON.writeValueAsString(newest);
  }

  private static Map<String, Figures> sums(Map<String, Counts> kind) {
    Map<String, Figures> sums = new TreeMap<>();
    kind.forEach((name, counts) -> sums.put(name, counts.sum()));
    return sums;
  }

  /** Not under the lock: Spark passes all events so far to the listener before it removes it. */
  @Override
  public void close() {
    RUNNING.remove(name);
    context.removeSparkListener(heartbeats);
    leave();
  }
}
