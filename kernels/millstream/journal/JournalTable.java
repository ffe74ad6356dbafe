package millstream.journal;

import java.util.Arrays;
import java.util.Set;
import org.apache.spark.sql.connector.catalog.SupportsRead;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.read.Batch;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.read.SupportsPushDownRequiredColumns;
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** A topic, for Spark. */
final class JournalTable implements SupportsRead {
  private final JournalOptions options;

  JournalTable(JournalOptions options) {
    this.options = options;
  }

  @Override
  public String name() {
    return "journal " + options.path + ", topic " + options.topic;
  }

  @Override
  @Deprecated
  public StructType schema() {
    return RecordRow.SCHEMA;
  }

  @Override
  public Set<TableCapability> capabilities() {
    return Set.of(TableCapability.BATCH_READ, TableCapability.MICRO_BATCH_READ);
  }

  @Override
  public ScanBuilder newScanBuilder(CaseInsensitiveStringMap scanOptions) {
    return new Builder(new JournalOptions(scanOptions));
  }

  private static final class Builder implements ScanBuilder, SupportsPushDownRequiredColumns {
    private final JournalOptions options;
    private StructType columns = RecordRow.SCHEMA;

    Builder(JournalOptions options) {
      this.options = options;
    }

    @Override
    public void pruneColumns(StructType required) {
      Set<String> names = Set.of(required.fieldNames());
      columns = new StructType(Arrays.stream(RecordRow.SCHEMA.fields())
          .filter(field -> names.contains(field.name()))
          .toArray(StructField[]::new));
    }

    @Override
    public Scan build() {
      return new JournalScan(options, columns);
    }
  }

  private record JournalScan(JournalOptions options, StructType columns) implements Scan {
    @Override
    public StructType readSchema() {
      return columns;
    }

    @Override
    public String description() {
      return "journal " + options.path + ", topic " + options.topic;
    }

    @Override
    public Batch toBatch() {
      return new JournalBatch(options, columns);
    }

    @Override
    public MicroBatchStream toMicroBatchStream(String checkpointLocation) {
      return new JournalStream(options, columns, checkpointLocation);
    }
  }

  private record JournalBatch(JournalOptions options, StructType columns) implements Batch {
    @Override
    public InputPartition[] planInputPartitions() {
      Offsets offsets = new Offsets(options.open());
      JournalOffset start = offsets.starting(options.starting);
      JournalOffset end = offsets.ending(options.ending);
      return JournalPartition.between(options, offsets, start, end);
    }

    @Override
    public PartitionReaderFactory createReaderFactory() {
      return new JournalReader.Factory(columns.fieldNames());
    }
  }
}
