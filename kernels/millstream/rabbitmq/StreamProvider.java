package millstream.rabbitmq;

import java.util.Arrays;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.connector.catalog.SupportsRead;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.catalog.TableProvider;
import org.apache.spark.sql.connector.expressions.Transform;
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

/** Streams of RabbitMQ as a table, in batches, micro-batches and real time. */
public final class StreamProvider implements TableProvider {
  @Override
  public StructType inferSchema(CaseInsensitiveStringMap options) {
    return RecordRow.SCHEMA;
  }

  @Override
  public Table getTable(StructType schema, Transform[] partitioning, Map<String, String> properties) {
    return new Streams(StreamOptions.of(new CaseInsensitiveStringMap(properties)));
  }

  private record Streams(StreamOptions options) implements SupportsRead {
    @Override
    public String name() {
      return "RabbitMQ streams " + String.join(", ", options.streams());
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
      return new Builder(StreamOptions.of(scanOptions), scanOptions.get("ending"));
    }
  }

  private static final class Builder implements ScanBuilder, SupportsPushDownRequiredColumns {
    private final StreamOptions options;
    private final String ending;
    private StructType columns = RecordRow.SCHEMA;

    Builder(StreamOptions options, String ending) {
      this.options = options;
      this.ending = ending;
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
      return new StreamScan(options, ending, columns);
    }
  }

  private record StreamScan(StreamOptions options, String ending, StructType columns) implements Scan {
    @Override
    public StructType readSchema() {
      return columns;
    }

    @Override
    public String description() {
      return "RabbitMQ streams " + String.join(", ", options.streams());
    }

    @Override
    public Batch toBatch() {
      return new StreamBatch(options, ending, columns);
    }

    @Override
    public MicroBatchStream toMicroBatchStream(String checkpointLocation) {
      return new RabbitStream(options, columns, checkpointLocation);
    }
  }

  private record StreamBatch(StreamOptions options, String ending, StructType columns) implements Batch {
    @Override
    public InputPartition[] planInputPartitions() {
      try (StreamEnds ends = new StreamEnds(options)) {
        Offsets offsets = new Offsets(options, ends);
        StreamOffset end = ending == null ? offsets.end() : StreamOffset.parse(ending);
        return offsets.between(offsets.starting(), end);
      }
    }

    @Override
    public PartitionReaderFactory createReaderFactory() {
      return new StreamReader.Factory(columns.fieldNames());
    }
  }
}
