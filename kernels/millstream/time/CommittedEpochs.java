package millstream.time;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.reflect.Field;
import java.nio.charset.StandardCharsets;
import millstream.commit.Decisions;
import org.apache.spark.sql.execution.streaming.checkpointing.CommitLog;
import org.apache.spark.sql.execution.streaming.checkpointing.CommitMetadataBase;
import org.apache.spark.sql.execution.streaming.runtime.MicroBatchExecution;
import org.apache.spark.sql.execution.streaming.runtime.MicroBatchExecutionContext;
import org.apache.spark.sql.execution.streaming.runtime.StreamExecution;
import scala.Option;
import scala.Some;
import scala.Tuple2;

/**
 * Spark's commit log. An epoch counts when that is decided ({@link Decisions}); what this log holds follows from it. It
 * also lets a query that is started again go on as if it had run the last epoch itself.
 *
 * <p>Spark reads this log when it has taken up its offsets, and has not yet decided whether to run an epoch: the one
 * moment at which it can learn of the one before.
 */
final class CommittedEpochs extends CommitLog {
  private final MicroBatchExecution query;
  private final Decisions decisions;

  /** NULL: there is at most one source with a time, and Spark keeps how far it is. */
  private final Watermarks watermarks;

  /** Whether an epoch without rows is run when the watermark has moved; in real time there is always another one. */
  private final boolean waits;

  private boolean resumed;

  private CommittedEpochs(
      MicroBatchExecution query, String folder, Decisions decisions, Watermarks watermarks, boolean waits) {
    super(query.sparkSession(), folder, false);
    this.query = query;
    this.decisions = decisions;
    this.watermarks = watermarks;
    this.waits = waits;
  }

  /** To be done before the query's first epoch. */
  static void install(
      MicroBatchExecution query, String folder, Decisions decisions, Watermarks watermarks, boolean waits) {
    query.commitLog(); // It is made when it is first asked for, and would be made again.
    try {
      Field field = StreamExecution.class.getDeclaredField("commitLog");
      field.setAccessible(true);
      field.set(query, new CommittedEpochs(query, folder, decisions, watermarks, waits));
      decisions.areAsked();
    } catch (ReflectiveOperationException error) {
      throw Propagation.moved(error);
    }
  }

  @Override
  public boolean add(long epoch, CommitMetadataBase metadata) {
    ByteArrayOutputStream content = new ByteArrayOutputStream();
    serialize(metadata, content);
    ObjectNode times = watermarks == null ? JsonNodeFactory.instance.objectNode() : watermarks.now();
    try {
      decisions.commit(epoch, content.toString(StandardCharsets.UTF_8), times);
    } catch (IOException error) {
      throw new UncheckedIOException(error);
    }
    boolean added = super.add(epoch, metadata);
    decisions.recorded();
    return added;
  }

  @Override
  public Option<Tuple2<Object, CommitMetadataBase>> getLatest() {
    Option<Tuple2<Object, CommitMetadataBase>> last = super.getLatest();
    // Spark asks twice. The first time there is no epoch yet to continue from.
    MicroBatchExecutionContext next = (MicroBatchExecutionContext) query.getLatestExecutionContext();
    if (waits && !resumed && last.isDefined() && next.batchId() >= 0) {
      resumed = true;
      resume(next, (Long) last.get()._1);
    }
    return last;
  }

  private void resume(MicroBatchExecutionContext next, long committed) {
    // Otherwise an epoch that was begun is run again: after it, Spark looks at the watermark by itself.
    if (next.batchId() == committed) {
      MicroBatchExecutionContext last = next.getNextContext();
      last.executionPlan_$eq(LastEpoch.of(query, next, watermarks));
      next.previousContext_$eq(new Some<>(last));
    }
  }
}
