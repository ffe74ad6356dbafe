package millstream.rabbitmq;

import java.util.Map;
import java.util.TreeMap;
import millstream.journal.LogStream;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.streaming.Offset;
import org.apache.spark.sql.connector.read.streaming.PartitionOffset;
import org.apache.spark.sql.types.StructType;

/** Streams of RabbitMQ as one stream. */
final class RabbitStream extends LogStream<String, StreamOffset> {
  private final StreamOptions options;
  private final StructType columns;
  private final StreamEnds ends;
  private final Offsets offsets;

  RabbitStream(StreamOptions options, StructType columns, String checkpoint) {
    super(checkpoint, options.maxRowsPerEpoch());
    this.options = options;
    this.columns = columns;
    this.ends = new StreamEnds(options);
    this.offsets = new Offsets(options, ends);
  }

  @Override
  protected StreamOffset starting() {
    return offsets.starting();
  }

  @Override
  protected StreamOffset end() {
    return offsets.end();
  }

  /** Tasks wait for a server that is away. */
  @Override
  protected StreamOffset endIfKnown() {
    try {
      return end();
    } catch (RabbitException e) {
      return null;
    }
  }

  @Override
  protected void check(StreamOffset start) {
    offsets.check(start);
  }

  @Override
  protected StreamOffset offset(Map<String, Long> next) {
    return new StreamOffset(next);
  }

  @Override
  public StreamOffset deserializeOffset(String json) {
    return StreamOffset.parse(json);
  }

  @Override
  public InputPartition[] planInputPartitions(Offset start, Offset end) {
    return offsets.between(cast(start), cast(end));
  }

  @Override
  public InputPartition[] planInputPartitions(Offset start) {
    return offsets.after(cast(start));
  }

  @Override
  public Offset mergeOffsets(PartitionOffset[] ends) {
    Map<String, Long> next = new TreeMap<>();
    for (PartitionOffset end : ends) {
      StreamOffset.OfStream of = (StreamOffset.OfStream) end;
      next.put(of.stream(), of.next());
    }
    return new StreamOffset(next);
  }

  @Override
  public PartitionReaderFactory createReaderFactory() {
    return new StreamReader.Factory(columns.fieldNames());
  }

  @Override
  public void stop() {
    ends.close();
  }

  @Override
  public String toString() {
    return "RabbitMQ streams " + String.join(", ", options.streams());
  }
}
