package millstream.time;

import org.apache.spark.sql.execution.streaming.checkpointing.OffsetSeqMetadataBase;
import org.apache.spark.sql.execution.streaming.runtime.IncrementalExecution;
import org.apache.spark.sql.execution.streaming.runtime.MicroBatchExecution;
import org.apache.spark.sql.execution.streaming.runtime.MicroBatchExecutionContext;
import org.apache.spark.sql.streaming.OutputMode;
import scala.Option;

/**
 * Stands in for the last epoch that was committed, when the run that ran it is gone.
 *
 * <pre>
 *   epoch 4 runs with watermark 12:00 ─▶ its rows move the watermark to 12:10 ─▶ committed ─▶ killed
 *   started again, no new rows: Spark asks the epoch before whether 12:10 calls for an epoch. There is none to ask.
 * </pre>
 *
 * <p>Without it, what ends by 12:10 would wait until rows come, and forever where a run ends when it has caught up.
 */
final class LastEpoch extends IncrementalExecution {
  private final MicroBatchExecutionContext next;
  private final Watermarks watermarks;

  private LastEpoch(
      MicroBatchExecution query, OffsetSeqMetadataBase logged, MicroBatchExecutionContext next, Watermarks watermarks) {
    super(
        query.sparkSession(),
        query.logicalPlan(),
        OutputMode.Update(),
        query.checkpointFile("state"),
        query.id(),
        query.runId(),
        next.batchId(),
        Option.empty(),
        logged,
        null,
        false,
        IncrementalExecution.$lessinit$greater$default$12(),
        IncrementalExecution.$lessinit$greater$default$13(),
        IncrementalExecution.$lessinit$greater$default$14(),
        false,
        false);
    this.next = next;
    this.watermarks = watermarks;
  }

  /** While {@code next} still has the number of the epoch that was committed. */
  static LastEpoch of(MicroBatchExecution query, MicroBatchExecutionContext next, Watermarks watermarks) {
    OffsetSeqMetadataBase logged =
        query.offsetLog().offsetSeqMetadataForBatchId(next.batchId()).get();
    return new LastEpoch(query, logged, next, watermarks);
  }

  /** As Spark's, which compares the two watermarks for each of its stateful operators. */
  @Override
  public boolean shouldRunAnotherBatch(OffsetSeqMetadataBase planned) {
    if (watermarks != null) {
      watermarks.restore();
    }
    boolean due = planned.batchWatermarkMs() > offsetSeqMetadata().batchWatermarkMs();
    boolean rows = !next.endOffsets().equals(next.startOffsets());
    if (due || rows) {
      // An epoch is planned now, the first of this run: Spark knows it by there being none before.
      next.previousContext_$eq(Option.empty());
    }
    return due;
  }
}
