package millstream.journal;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import millstream.source.Shares;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream;
import org.apache.spark.sql.connector.read.streaming.Offset;
import org.apache.spark.sql.connector.read.streaming.PartitionOffset;
import org.apache.spark.sql.connector.read.streaming.ReadLimit;
import org.apache.spark.sql.connector.read.streaming.ReadMaxRows;
import org.apache.spark.sql.connector.read.streaming.ReportsSourceMetrics;
import org.apache.spark.sql.connector.read.streaming.SupportsRealTimeMode;
import org.apache.spark.sql.connector.read.streaming.SupportsTriggerAvailableNow;
import org.apache.spark.sql.types.StructType;

/** A topic as a stream: by epochs with known ends, or in real time, where an epoch ends when its time is over. */
final class JournalStream
    implements MicroBatchStream, SupportsTriggerAvailableNow, SupportsRealTimeMode, ReportsSourceMetrics {
  private final JournalOptions options;
  private final StructType columns;
  private final Topic topic;
  private final Offsets offsets;
  private final Disk disk;
  private final String checkpoint;
  private boolean realTime;
  private boolean availableNow;
  private boolean begun;
  private JournalOffset initial;
  private JournalOffset newest;

  JournalStream(JournalOptions options, StructType columns, String checkpoint) {
    this.options = options;
    this.columns = columns;
    this.disk = Disk.of(checkpoint);
    this.checkpoint = Disk.plain(checkpoint);
    this.topic = options.open();
    this.offsets = new Offsets(topic);
  }

  /**
   * Found once, and kept: Spark logs where the first epoch ends, and not where it begins. If it is run again after a
   * crash, "latest" must not have moved.
   */
  @Override
  public Offset initialOffset() {
    try {
      String file = checkpoint + "/initial";
      byte[] found = initial == null ? disk.readIfThere(file) : null;
      if (found != null) {
        initial = JournalOffset.parse("offsets in the checkpoint", new String(found, StandardCharsets.UTF_8));
      }
      if (initial == null) {
        initial = offsets.starting(options.starting);
        disk.makeFolder(checkpoint);
        disk.writeAtomically(file, initial.json().getBytes(StandardCharsets.UTF_8));
      }
      return initial;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @Override
  public Offset deserializeOffset(String json) {
    return JournalOffset.parse("offsets in the checkpoint", json);
  }

  @Override
  public ReadLimit getDefaultReadLimit() {
    return options.maxRowsPerEpoch > 0 ? ReadLimit.maxRows(options.maxRowsPerEpoch) : ReadLimit.allAvailable();
  }

  @Override
  public void prepareForTriggerAvailableNow() {
    availableNow = true;
  }

  @Override
  public void prepareForRealTimeMode() {
    realTime = true;
  }

  @Override
  public Offset latestOffset() {
    throw new UnsupportedOperationException("latestOffset(Offset, ReadLimit) is called instead");
  }

  @Override
  public Offset latestOffset(Offset start, ReadLimit limit) {
    if (!begun) {
      offsets.check((JournalOffset) start);
      begun = true;
    }
    if (realTime) {
      // Spark takes an epoch's end from its tasks; to count records here would only delay the next epoch.
      return start;
    }
    if (newest == null || !availableNow) {
      newest = offsets.end();
    }
    return limit instanceof ReadMaxRows rows
        ? new JournalOffset(Shares.limited(((JournalOffset) start)::of, newest.byPartition(), rows.maxRows()))
        : newest;
  }

  @Override
  public Offset reportLatestOffset() {
    return newest;
  }

  /** Asked when an epoch has ended. In real time the topic's end has not been looked up until then. */
  @Override
  public Map<String, String> metrics(Optional<Offset> read) {
    JournalOffset end = realTime ? offsets.end() : newest;
    if (end == null || read.isEmpty()) {
      return Map.of();
    }
    JournalOffset at = (JournalOffset) read.get();
    return Map.of("rowsBehind", Long.toString(Shares.behind(at::of, end.byPartition())));
  }

  @Override
  public InputPartition[] planInputPartitions(Offset start, Offset end) {
    return JournalPartition.between(options, offsets, (JournalOffset) start, (JournalOffset) end);
  }

  @Override
  public InputPartition[] planInputPartitions(Offset start) {
    return JournalPartition.after(options, (JournalOffset) start, topic.partitions());
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
  public void commit(Offset end) {}

  @Override
  public void stop() {}

  @Override
  public String toString() {
    return "journal " + options.path + ", topic " + options.topic;
  }
}
