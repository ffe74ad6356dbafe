package millstream.rabbitmq;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import millstream.journal.Disk;
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

/** Streams of RabbitMQ, by epochs with known ends, or in real time, where an epoch ends when its time is over. */
final class RabbitStream
    implements MicroBatchStream, SupportsTriggerAvailableNow, SupportsRealTimeMode, ReportsSourceMetrics {
  private final StreamOptions options;
  private final StructType columns;
  private final StreamEnds ends;
  private final Offsets offsets;
  private final Disk disk;
  private final String checkpoint;
  private boolean realTime;
  private boolean availableNow;
  private boolean begun;
  private StreamOffset initial;
  private StreamOffset newest;

  RabbitStream(StreamOptions options, StructType columns, String checkpoint) {
    this.options = options;
    this.columns = columns;
    this.ends = new StreamEnds(options);
    this.offsets = new Offsets(options, ends);
    this.disk = Disk.of(checkpoint);
    this.checkpoint = Disk.plain(checkpoint);
  }

  /** Found once, and kept: if the first epoch is run again after a crash, "latest" must not have moved. */
  @Override
  public Offset initialOffset() {
    try {
      String file = checkpoint + "/initial";
      byte[] found = initial == null ? disk.readIfThere(file) : null;
      if (found != null) {
        initial = StreamOffset.parse(new String(found, StandardCharsets.UTF_8));
      }
      if (initial == null) {
        initial = offsets.starting();
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
    return StreamOffset.parse(json);
  }

  @Override
  public ReadLimit getDefaultReadLimit() {
    return options.maxRowsPerEpoch() > 0 ? ReadLimit.maxRows(options.maxRowsPerEpoch()) : ReadLimit.allAvailable();
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
  public Offset latestOffset(Offset from, ReadLimit limit) {
    StreamOffset start = (StreamOffset) from;
    if (!begun) {
      offsets.check(start);
      begun = true;
    }
    if (realTime) {
      // Spark takes an epoch's end from its tasks; to ask for it here would only delay the next epoch.
      return start;
    }
    if (newest == null || !availableNow) {
      newest = offsets.end();
    }
    return limit instanceof ReadMaxRows rows
        ? new StreamOffset(Shares.limited(start::of, newest.byStream(), rows.maxRows()))
        : newest;
  }

  @Override
  public Offset reportLatestOffset() {
    return newest;
  }

  /** Asked when an epoch has ended. In real time the streams' ends have not been looked up until then. */
  @Override
  public Map<String, String> metrics(Optional<Offset> read) {
    StreamOffset end = realTime ? endIfReached() : newest;
    if (end == null || read.isEmpty()) {
      return Map.of();
    }
    StreamOffset at = (StreamOffset) read.get();
    return Map.of("rowsBehind", Long.toString(Shares.behind(at::of, end.byStream())));
  }

  /** A figure is no reason to fail: tasks wait for a server that is away. */
  private StreamOffset endIfReached() {
    try {
      return offsets.end();
    } catch (RabbitException e) {
      return null;
    }
  }

  @Override
  public InputPartition[] planInputPartitions(Offset start, Offset end) {
    return offsets.between((StreamOffset) start, (StreamOffset) end);
  }

  @Override
  public InputPartition[] planInputPartitions(Offset start) {
    return offsets.after((StreamOffset) start);
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
  public void commit(Offset end) {}

  @Override
  public void stop() {
    ends.close();
  }

  @Override
  public String toString() {
    return "RabbitMQ streams " + String.join(", ", options.streams());
  }
}
