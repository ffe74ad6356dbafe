package millstream.time;

import millstream.commit.Decisions;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.execution.streaming.runtime.MicroBatchExecution;
import org.apache.spark.sql.execution.streaming.runtime.StreamingQueryWrapper;
import org.apache.spark.sql.streaming.StreamingQueryListener;

/** Gives a query its commit log, and its clock if it has one, when it is started and before its first epoch. */
public final class Committing extends StreamingQueryListener {
  private static final long serialVersionUID = 1L;

  private final SparkSession spark;
  private final String job;
  private final String folder;
  private final transient Decisions decisions;

  /** NULL: no source has a time. */
  private final transient Clock clock;

  /** {@code folder}: where Spark keeps the epochs that are committed. */
  public Committing(SparkSession spark, String job, String folder, Decisions decisions, Clock clock) {
    this.spark = spark;
    this.job = job;
    this.folder = folder;
    this.decisions = decisions;
    this.clock = clock;
  }

  /** Spark waits until this has returned, and only then begins its first epoch. */
  @Override
  public void onQueryStarted(QueryStartedEvent event) {
    if (!job.equals(event.name())) {
      return;
    }
    StreamingQueryWrapper started = (StreamingQueryWrapper) spark.streams().get(event.id());
    MicroBatchExecution query = (MicroBatchExecution) started.streamingQuery();
    Watermarks watermarks = clock == null ? null : clock.watermarks(query, decisions);
    CommittedEpochs.install(query, folder, decisions, watermarks, clock != null && clock.waits());
    if (clock != null) {
      clock.start(query, watermarks);
    }
  }

  @Override
  public void onQueryProgress(QueryProgressEvent event) {
    // Nothing to do.
  }

  @Override
  public void onQueryTerminated(QueryTerminatedEvent event) {
    // Nothing to do.
  }
}
