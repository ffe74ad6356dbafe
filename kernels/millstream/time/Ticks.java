package millstream.time;

import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import millstream.source.NoRows;
import org.apache.spark.sql.connector.catalog.SupportsRead;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.catalog.TableProvider;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream;
import org.apache.spark.sql.connector.read.streaming.Offset;
import org.apache.spark.sql.connector.read.streaming.PartitionOffset;
import org.apache.spark.sql.connector.read.streaming.ReadLimit;
import org.apache.spark.sql.connector.read.streaming.SupportsRealTimeMode;
import org.apache.spark.sql.connector.read.streaming.SupportsTriggerAvailableNow;
import org.apache.spark.sql.execution.streaming.runtime.LongOffset;
import org.apache.spark.sql.sources.DataSourceRegister;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/**
 * {@code format("millstream-ticks")}: a source without rows that has something new every second, so that epochs go by,
 * and timers by the clock ring, when no rows come. A run that ends when it has caught up sees one tick.
 */
public final class Ticks implements TableProvider, DataSourceRegister {
  private static final StructType NOTHING = new StructType().add("nothing", "boolean");

  @Override
  public String shortName() {
    return "millstream-ticks";
  }

  @Override
  public StructType inferSchema(CaseInsensitiveStringMap options) {
    return NOTHING;
  }

  @Override
  public Table getTable(StructType schema, Transform[] partitioning, Map<String, String> properties) {
    return new TickTable();
  }

  private static final class TickTable implements SupportsRead {
    @Override
    public String name() {
      return "ticks of the clock";
    }

    @Override
    @Deprecated
    public StructType schema() {
      return NOTHING;
    }

    @Override
    public Set<TableCapability> capabilities() {
      return Set.of(TableCapability.MICRO_BATCH_READ);
    }

    @Override
    public ScanBuilder newScanBuilder(CaseInsensitiveStringMap options) {
      return TickScan::new;
    }
  }

  private static final class TickScan implements Scan {
    @Override
    public StructType readSchema() {
      return NOTHING;
    }

    @Override
    public MicroBatchStream toMicroBatchStream(String checkpoint) {
      return new TickStream();
    }
  }

  /** Its offsets are seconds. */
  private static final class TickStream implements MicroBatchStream, SupportsTriggerAvailableNow, SupportsRealTimeMode {
    private LongOffset only;

    @Override
    public Offset initialOffset() {
      return new LongOffset(0);
    }

    @Override
    public Offset deserializeOffset(String json) {
      return new LongOffset(Long.parseLong(json));
    }

    @Override
    public void prepareForTriggerAvailableNow() {
      only = now();
    }

    @Override
    public Offset latestOffset() {
      throw new UnsupportedOperationException("latestOffset(Offset, ReadLimit) is called instead");
    }

    @Override
    public Offset latestOffset(Offset start, ReadLimit limit) {
      return only == null ? now() : only;
    }

    private static LongOffset now() {
      return new LongOffset(TimeUnit.MILLISECONDS.toSeconds(System.currentTimeMillis()));
    }

    /** One task, which has no rows, and ends as every task does: with what rings the timers. */
    @Override
    public InputPartition[] planInputPartitions(Offset start, Offset end) {
      return new InputPartition[] {new NoRows()};
    }

    @Override
    public void prepareForRealTimeMode() {}

    /** In real time nothing waits for an epoch: no task is needed. */
    @Override
    public InputPartition[] planInputPartitions(Offset start) {
      return new InputPartition[0];
    }

    @Override
    public Offset mergeOffsets(PartitionOffset[] offsets) {
      return now();
    }

    @Override
    public PartitionReaderFactory createReaderFactory() {
      return NoRows.readers();
    }

    @Override
    public void commit(Offset end) {}

    @Override
    public void stop() {}

    @Override
    public String toString() {
      return "ticks of the clock";
    }
  }
}
