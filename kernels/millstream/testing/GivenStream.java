package millstream.testing;

import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream;
import org.apache.spark.sql.connector.read.streaming.Offset;
import org.apache.spark.sql.connector.read.streaming.ReadLimit;
import org.apache.spark.sql.connector.read.streaming.SupportsTriggerAvailableNow;

/** A source of a test: its offset is the number of steps that were taken, so each epoch of Spark's is one step. */
final class GivenStream implements MicroBatchStream, SupportsTriggerAvailableNow {
  private final String source;
  private final Given given;

  GivenStream(String test, String source) {
    this.source = source;
    this.given = Given.of(test);
  }

  private static final class Step extends Offset {
    private final long taken;

    Step(long taken) {
      this.taken = taken;
    }

    @Override
    public String json() {
      return Long.toString(taken);
    }
  }

  @Override
  public Offset initialOffset() {
    return new Step(0);
  }

  @Override
  public Offset deserializeOffset(String json) {
    return new Step(Long.parseLong(json));
  }

  @Override
  public void prepareForTriggerAvailableNow() {}

  @Override
  public Offset latestOffset() {
    throw new UnsupportedOperationException("latestOffset(Offset, ReadLimit) is called instead");
  }

  @Override
  public Offset latestOffset(Offset start, ReadLimit limit) {
    return new Step(given.next(((Step) start).taken));
  }

  @Override
  public InputPartition[] planInputPartitions(Offset start, Offset end) {
    return GivenReader.partitions(source, given.between(source, ((Step) start).taken, ((Step) end).taken));
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
