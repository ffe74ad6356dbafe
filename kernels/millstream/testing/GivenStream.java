package millstream.testing;

import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream;
import org.apache.spark.sql.connector.read.streaming.Offset;
import org.apache.spark.sql.connector.read.streaming.ReadLimit;
import org.apache.spark.sql.connector.read.streaming.SupportsTriggerAvailableNow;
import org.apache.spark.sql.execution.streaming.runtime.LongOffset;

/** A source of a test: its offset is the number of steps that were taken, so each Spark epoch is one step. */
final class GivenStream implements MicroBatchStream, SupportsTriggerAvailableNow {
  private final String source;
  private final Given given;

  GivenStream(String test, String source) {
    this.source = source;
    this.given = Given.of(test);
  }

  @Override
  public Offset initialOffset() {
    return new LongOffset(0);
  }

  @Override
  public Offset deserializeOffset(String json) {
    return new LongOffset(Long.parseLong(json));
  }

  @Override
  public void prepareForTriggerAvailableNow() {}

  @Override
  public Offset latestOffset() {
    throw new UnsupportedOperationException("latestOffset(Offset, ReadLimit) is called instead");
  }

  @Override
  public Offset latestOffset(Offset start, ReadLimit limit) {
    return new LongOffset(given.next(((LongOffset) start).offset()));
  }

  @Override
  public InputPartition[] planInputPartitions(Offset start, Offset end) {
    long from = ((LongOffset) start).offset();
    long to = ((LongOffset) end).offset();
    return GivenReader.partitions(source, given.between(source, from, to));
  }

  @Override
  public PartitionReaderFactory createReaderFactory() {
    return new GivenReader.Factory();
  }

  @Override
  public void commit(Offset end) {}

  @Override
  public void stop() {}

  @Override
  public String toString() {
    return "given to " + source;
  }
}
