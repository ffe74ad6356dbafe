package millstream.journal;

import java.util.Map;
import java.util.TreeMap;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.streaming.Offset;
import org.apache.spark.sql.connector.read.streaming.PartitionOffset;
import org.apache.spark.sql.types.StructType;

/** A topic as a stream. */
final class JournalStream extends LogStream<Integer, JournalOffset> {
  private final JournalOptions options;
  private final StructType columns;
  private final Topic topic;
  private final Offsets offsets;

  JournalStream(JournalOptions options, StructType columns, String checkpoint) {
    super(checkpoint, options.maxRowsPerEpoch);
    this.options = options;
    this.columns = columns;
    this.topic = options.open();
    this.offsets = new Offsets(topic);
  }

  @Override
  protected JournalOffset starting() {
    return offsets.starting(options.starting);
  }

  @Override
  protected JournalOffset end() {
    return offsets.end();
  }

  @Override
  protected void check(JournalOffset start) {
    offsets.check(start);
  }

  @Override
  protected JournalOffset offset(Map<Integer, Long> next) {
    return new JournalOffset(next);
  }

  @Override
  public JournalOffset deserializeOffset(String json) {
    return JournalOffset.parse("offsets in the checkpoint", json);
  }

  @Override
  public InputPartition[] planInputPartitions(Offset start, Offset end) {
    return JournalPartition.between(options, offsets, cast(start), cast(end));
  }

  @Override
  public InputPartition[] planInputPartitions(Offset start) {
    return JournalPartition.after(options, cast(start), topic.partitions());
  }

  @Override
  public Offset mergeOffsets(PartitionOffset[] ends) {
    Map<Integer, Long> next = new TreeMap<>();
    for (PartitionOffset end : ends) {
      JournalOffset.OfPartition of = (JournalOffset.OfPartition) end;
      next.put(of.partition(), of.next());
    }
    return new JournalOffset(next);
  }

  @Override
  public PartitionReaderFactory createReaderFactory() {
    return new JournalReader.Factory(columns.fieldNames());
  }

  @Override
  public String toString() {
    return "journal " + options.path + ", topic " + options.topic;
  }
}
