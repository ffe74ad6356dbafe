package millstream.barrier;

import java.io.Serializable;
import java.util.HashMap;
import millstream.metrics.Figures;
import org.apache.spark.sql.connector.read.streaming.PartitionOffset;
import org.apache.spark.sql.connector.write.WriterCommitMessage;

/**
 * What a task reports when all that it has done before a barrier is durable.
 *
 * @param task the attempt's number, which no other task of the application has
 * @param read how far it has read; NULL: it reads no source
 * @param state what it has saved; NULL: it has no state
 * @param written what it has prepared for the sinks; NULL: it writes to none
 * @param took how long that took; NULL: nothing was saved
 * @param times by accumulator, the greatest event time that it has seen
 * @param counts by accumulator, what it has counted so far
 */
record Ack(
    long number,
    int partition,
    long task,
    Read read,
    SavedState.Saved state,
    Written written,
    Took took,
    HashMap<Long, Long> times,
    HashMap<Long, Figures> counts)
    implements Serializable {
  /**
   * How far a source is read.
   *
   * @param rows how many since the barrier before
   */
  record Read(String source, PartitionOffset at, long rows) implements Serializable {}

  /**
   * What is prepared.
   *
   * @param rows how many since the barrier before
   */
  record Written(WriterCommitMessage prepared, long rows) implements Serializable {}

  /**
   * Time, in nanoseconds.
   *
   * @param align from the first writer's barrier to the last one's
   * @param save while the task paused
   * @param sync in the background, until all was durable
   */
  record Took(long align, long save, long sync) implements Serializable {}
}
