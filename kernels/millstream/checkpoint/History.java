package millstream.checkpoint;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import millstream.journal.Disk;
import org.apache.spark.sql.streaming.StreamingQueryListener;
import org.apache.spark.sql.streaming.StreamingQueryProgress;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The last checkpoints: how long each took, in which phases and tasks, and which attempts failed.
 *
 * <p>It is for users: nothing is recovered from it. So it is written in the background, about once a second, and a
 * failure to write it is only logged.
 */
public final class History extends StreamingQueryListener implements AutoCloseable {
  private static final long serialVersionUID = 1L;
  private static final Logger LOG = LoggerFactory.getLogger(History.class);
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final int FORMAT = 1;
  private static final int MOST_FAILURES = 100;
  /** By path, what could not be written when a run ended, such as on a full disk. The next run writes it. */
  private static final Map<String, byte[]> UNWRITTEN = new ConcurrentHashMap<>();

  /**
   * A task's part in a checkpoint, in milliseconds.
   *
   * @param stage of the job, counted from the sources
   * @param align between the first barrier that came and the last; NULL where no barriers flow
   * @param save while the task stood still
   * @param sync beside the task, until all was durable; NULL where it stands still for that, too
   */
  public record Task(int stage, int task, Long align, Long save, Long sync) {
    private ObjectNode json() {
      ObjectNode json = JSON.createObjectNode().put("stage", stage).put("task", task);
      return json.put("align_ms", align).put("save_ms", save).put("sync_ms", sync);
    }
  }

  private final String job;
  private final String path;
  private final String run;
  private final String mode;
  private final int most;
  private final transient TaskCommits commits;
  private final transient TreeMap<Long, ObjectNode> epochs = new TreeMap<>();
  private final transient Map<Long, List<Task>> reported = new TreeMap<>();
  private final transient List<ObjectNode> failures = new ArrayList<>();
  private final transient ScheduledExecutorService writing = Executors.newSingleThreadScheduledExecutor(work -> {
    Thread thread = new Thread(work, "millstream history");
    thread.setDaemon(true);
    return thread;
  });
  private String query;
  private boolean dirty;

  /** {@code most}: how many epochs it lists; {@code mode}: how they are run. */
  public History(String job, String path, String run, String mode, int most) {
    this.job = job;
    this.path = Disk.plain(path);
    this.run = run;
    this.mode = mode;
    this.most = most;
    this.commits = new TaskCommits();
    read(Disk.of(path));
    writing.scheduleWithFixedDelay(this::writeIfNew, 1, 1, TimeUnit.SECONDS);
  }

  /** Notified of tasks that end: where no barriers flow, they save their state last. */
  public TaskCommits commits() {
    return commits;
  }

  private void read(Disk disk) {
    try {
      byte[] unwritten = UNWRITTEN.get(path);
      dirty = unwritten != null;
      byte[] found = dirty ? unwritten : disk.exists(path) ? disk.readAll(path) : null;
      JsonNode json = found == null ? JSON.createObjectNode() : JSON.readTree(found);
      if (json.path("format").asInt() == FORMAT) {
        json.path("epochs").forEach(one -> epochs.put(one.path("epoch").asLong(), (ObjectNode) one));
        json.path("failures").forEach(one -> failures.add((ObjectNode) one));
      }
    } catch (IOException | RuntimeException error) {
      LOG.warn("the history {} cannot be read, and begins again: {}", path, error.toString());
    }
  }

  /** What tasks reported for a barrier; comes before the epoch's progress. */
  public synchronized void tasks(long epoch, List<Task> tasks) {
    reported.put(epoch, tasks);
  }

  /** An attempt that failed, and is retried or ends the run. */
  public synchronized void failed(long epoch, String reason) {
    failures.add(JSON.createObjectNode()
        .put("epoch", epoch)
        .put("run", run)
        .put("at_ms", System.currentTimeMillis())
        .put("reason", reason));
    while (failures.size() > MOST_FAILURES) {
      failures.remove(0);
    }
    dirty = true;
  }

  @Override
  public synchronized void onQueryStarted(QueryStartedEvent event) {
    if (job.equals(event.name()) && query == null) {
      query = event.id().toString();
      commits.follow(query);
    }
  }

  @Override
  public void onQueryProgress(QueryProgressEvent event) {
    add(event.progress());
  }

  /** A query that rests reports its last epoch again. */
  public synchronized void add(StreamingQueryProgress progress) {
    long epoch = progress.batchId();
    if (!progress.id().toString().equals(query) || !ran(progress) || isKnown(epoch)) {
      return;
    }
    ObjectNode json =
        JSON.createObjectNode().put("epoch", epoch).put("run", run).put("mode", mode);
    json.put("at_ms", ended(progress));
    json.put("duration_ms", progress.durationMs().getOrDefault("triggerExecution", 0L));
    ObjectNode phases = json.putObject("phases_ms");
    progress.durationMs().forEach(phases::put);
    epochs.tailMap(epoch, true).clear();
    epochs.put(epoch, json);
    while (epochs.size() > most) {
      epochs.pollFirstEntry();
    }
    dirty = true;
  }

  private static boolean ran(StreamingQueryProgress progress) {
    return progress.durationMs().containsKey("addBatch")
        || progress.durationMs().containsKey("barrier");
  }

  private boolean isKnown(long epoch) {
    return epochs.containsKey(epoch) && run.equals(epochs.get(epoch).path("run").asText());
  }

  private static long ended(StreamingQueryProgress progress) {
    return Instant.parse(progress.timestamp()).toEpochMilli()
        + progress.durationMs().getOrDefault("triggerExecution", 0L);
  }

  /** The tasks of epochs whose reports have come meanwhile. */
  private void fill() {
    reported.forEach((epoch, tasks) -> put(epoch, tasks));
    reported.clear();
    commits.taken(epochs.isEmpty() ? -1 : epochs.lastKey()).forEach(this::put);
  }

  private void put(long epoch, List<Task> tasks) {
    ObjectNode json = epochs.get(epoch);
    if (json != null && !json.has("tasks")) {
      ArrayNode listed = json.putArray("tasks");
      tasks.forEach(task -> listed.add(task.json()));
    }
  }

  private void writeIfNew() {
    byte[] content;
    synchronized (this) {
      if (!dirty) {
        return;
      }
      dirty = false;
      fill();
      ObjectNode json = JSON.createObjectNode().put("format", FORMAT);
      json.putArray("epochs").addAll(epochs.values());
      json.putArray("failures").addAll(failures);
      content = json.toString().getBytes(StandardCharsets.UTF_8);
    }
    try {
      Disk.of(path).writeAtomically(path, content);
      UNWRITTEN.remove(path);
    } catch (IOException | RuntimeException error) {
      UNWRITTEN.put(path, content);
      synchronized (this) {
        dirty = true;
      }
      LOG.warn("the history {} could not be written: {}", path, error.toString());
    }
  }

  @Override
  public void onQueryTerminated(QueryTerminatedEvent event) {}

  /** With what is new. */
  @Override
  public void close() {
    writing.shutdown();
    try {
      writing.awaitTermination(1, TimeUnit.MINUTES);
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
    }
    writeIfNew();
  }
}
