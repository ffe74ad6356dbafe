package millstream.metrics;

import java.util.Map;
import java.util.TreeMap;
import java.util.UUID;
import org.apache.spark.sql.streaming.SourceProgress;
import org.apache.spark.sql.streaming.StreamingQuery;
import org.apache.spark.sql.streaming.StreamingQueryListener;
import org.apache.spark.sql.streaming.StreamingQueryProgress;

/** Adds up what Spark says about each epoch of a run, over all its starts. */
final class Epochs extends StreamingQueryListener {
  private static final long serialVersionUID = 1L;

  private transient StreamingQuery query;
  private UUID run;

  /** The last epoch that is added, in the current start. */
  private long epoch = -1;

  private long ended;
  private transient StreamingQueryProgress last;
  private final transient Map<Integer, Long> rows = new TreeMap<>();
  private final transient Map<String, Long> millis = new TreeMap<>();
  private long written;

  synchronized void follow(StreamingQuery started) {
    catchUp();
    query = started;
    run = started.runId();
    epoch = -1;
  }

  @Override
  public void onQueryStarted(QueryStartedEvent event) {}

  /** Spark itself remembers the last hundred epochs only. */
  @Override
  public synchronized void onQueryProgress(QueryProgressEvent event) {
    if (event.progress().runId().equals(run)) {
      add(event.progress());
    }
  }

  @Override
  public void onQueryTerminated(QueryTerminatedEvent event) {}

  /** Also those whose events are still on their way. */
  private void catchUp() {
    if (query != null) {
      for (StreamingQueryProgress progress : query.recentProgress()) {
        add(progress);
      }
    }
  }

  /** A query that rests reports its last epoch again. */
  private void add(StreamingQueryProgress progress) {
    if (progress.batchId() <= epoch) {
      return;
    }
    epoch = progress.batchId();
    last = progress;
    ended++;
    SourceProgress[] sources = progress.sources();
    for (int i = 0; i < sources.length; i++) {
      rows.merge(i, sources[i].numInputRows(), Long::sum);
    }
    progress.durationMs().forEach((phase, time) -> millis.merge(phase, time, Long::sum));
    written += Math.max(0, progress.sink().numOutputRows());
  }

  /**
   * What there is up to now.
   *
   * @param ended how many epochs
   * @param last what Spark says of the last one, as JSON; null: there is none
   * @param rows those that were read, by source
   * @param millis the time that epochs took, by phase
   * @param written the rows that went to all sinks
   */
  record Sum(long ended, String last, Map<Integer, Long> rows, Map<String, Long> millis, long written) {}

  synchronized Sum sum() {
    catchUp();
    return new Sum(ended, last == null ? null : last.json(), new TreeMap<>(rows), new TreeMap<>(millis), written);
  }
}
