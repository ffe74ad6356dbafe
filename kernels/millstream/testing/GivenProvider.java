package millstream.testing;

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
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream;
import org.apache.spark.sql.sources.DataSourceRegister;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** {@code format("millstream-given")}: what a test gives to a source, option {@code source} of {@code test}. */
public final class GivenProvider implements TableProvider, DataSourceRegister {
  @Override
  public String shortName() {
    return "millstream-given";
  }

  @Override
  public StructType inferSchema(CaseInsensitiveStringMap options) {
    return Given.SCHEMA;
  }

  @Override
  public Table getTable(StructType schema, Transform[] partitioning, Map<String, String> properties) {
    return new GivenTable();
  }

  private static final class GivenTable implements SupportsRead {
    @Override
    public String name() {
      return "given by a test";
    }

    @Override
    @Deprecated
    public StructType schema() {
      return Given.SCHEMA;
    }

    @Override
    public Set<TableCapability> capabilities() {
      return Set.of(TableCapability.BATCH_READ, TableCapability.MICRO_BATCH_READ);
    }

    @Override
    public ScanBuilder newScanBuilder(CaseInsensitiveStringMap options) {
      return () -> new GivenScan(options.get("test"), options.get("source"));
    }
  }

  private record GivenScan(String test, String source) implements Scan {
    @Override
    public StructType readSchema() {
      return Given.SCHEMA;
    }

    @Override
    public Batch toBatch() {
      return new GivenBatch(test, source);
    }

    @Override
    public MicroBatchStream toMicroBatchStream(String checkpoint) {
      return new GivenStream(test, source);
    }
  }

  private record GivenBatch(String test, String source) implements Batch {
    @Override
    public InputPartition[] planInputPartitions() {
      return GivenReader.partitions(source, Given.of(test).all(source));
    }

    @Override
    public PartitionReaderFactory createReaderFactory() {
      return new GivenReader.Factory();
    }
  }
}
