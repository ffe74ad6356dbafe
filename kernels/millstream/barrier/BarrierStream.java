package millstream.barrier;

import java.util.Map;
import java.util.Optional;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream;
import org.apache.spark.sql.connector.read.streaming.Offset;
import org.apache.spark.sql.connector.read.streaming.PartitionOffset;
import org.apache.spark.sql.connector.read.streaming.ReadLimit;
import org.apache.spark.sql.connector.read.streaming.ReportsSourceMetrics;
import org.apache.spark.sql.connector.read.streaming.SupportsAdmissionControl;
import org.apache.spark.sql.connector.read.streaming.SupportsRealTimeMode;

/** A source's stream, unchanged, whose readers let barriers pass. */
final class BarrierStream
    implements MicroBatchStream, SupportsRealTimeMode, SupportsAdmissionControl, ReportsSourceMetrics {
  /** A source's system is asked how far it is ahead, which takes time: not at every barrier. */
  private static final long ASK_NANOS = 3_000_000_000L;

  private final MicroBatchStream inner;
  /** Its tasks use this to say which source they read. */
  private final String id;

  private Map<String, String> metrics;
  private long asked;

  BarrierStream(MicroBatchStream inner, String id) {
    this.inner = inner;
    this.id = id;
  }

  String id() {
    return id;
  }

  /** How many partitions there are now, behind these offsets: the system is asked. */
  int partitions(Offset read) {
    latestOffset(read, getDefaultReadLimit());
    return planInputPartitions(read).length;
  }

  @Override
  public PartitionReaderFactory createReaderFactory() {
    return new ScanReader.Factory(inner.createReaderFactory(), id);
  }

  @Override
  public void prepareForRealTimeMode() {
    realTime().prepareForRealTimeMode();
  }

  @Override
  public InputPartition[] planInputPartitions(Offset start) {
    return realTime().planInputPartitions(start);
  }

  @Override
  public Offset mergeOffsets(PartitionOffset[] offsets) {
    return realTime().mergeOffsets(offsets);
  }

  private SupportsRealTimeMode realTime() {
    return (SupportsRealTimeMode) inner;
  }

  @Override
  public InputPartition[] planInputPartitions(Offset start, Offset end) {
    return inner.planInputPartitions(start, end);
  }

  @Override
  public ReadLimit getDefaultReadLimit() {
    return inner instanceof SupportsAdmissionControl admits
        ? admits.getDefaultReadLimit()
        : SupportsAdmissionControl.super.getDefaultReadLimit();
  }

  @Override
  public Offset latestOffset(Offset start, ReadLimit limit) {
    return inner instanceof SupportsAdmissionControl admits ? admits.latestOffset(start, limit) : inner.latestOffset();
  }

  @Override
  public Offset reportLatestOffset() {
    return inner instanceof SupportsAdmissionControl admits ? admits.reportLatestOffset() : null;
  }

  @Override
  public Offset latestOffset() {
    return inner.latestOffset();
  }

  @Override
  public Map<String, String> metrics(Optional<Offset> read) {
    long now = System.nanoTime();
    if (metrics == null || now - asked > ASK_NANOS) {
      metrics = inner instanceof ReportsSourceMetrics reports ? reports.metrics(read) : Map.of();
      asked = now;
    }
    return metrics;
  }

  @Override
  public Offset initialOffset() {
    return inner.initialOffset();
  }

  @Override
  public Offset deserializeOffset(String json) {
    return inner.deserializeOffset(json);
  }

  @Override
  public void commit(Offset end) {
    inner.commit(end);
  }

  @Override
  public void stop() {
    inner.stop();
  }

  @Override
  public String toString() {
    return inner.toString();
  }
}
