package millstream.sink;

import java.util.Arrays;
import java.util.Map;
import java.util.Set;
import millstream.metrics.Meters;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.connector.catalog.SupportsWrite;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.catalog.TableProvider;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.connector.write.BatchWrite;
import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import org.apache.spark.sql.connector.write.Write;
import org.apache.spark.sql.connector.write.WriteBuilder;
import org.apache.spark.sql.connector.write.streaming.StreamingWrite;
import org.apache.spark.sql.internal.connector.SupportsStreamingUpdateAsAppend;
import org.apache.spark.sql.sources.DataSourceRegister;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** {@code format("millstream-sinks")}: one output of a job, whose rows say which of its sinks they go to. */
public final class SinksProvider implements TableProvider, DataSourceRegister {
  static final StructType SCHEMA = (StructType) DataType.fromDDL("sink INT, key BINARY, value BINARY, w BIGINT");

  @Override
  public String shortName() {
    return "millstream-sinks";
  }

  @Override
  public StructType inferSchema(CaseInsensitiveStringMap options) {
    return SCHEMA;
  }

  @Override
  public Table getTable(StructType schema, Transform[] partitioning, Map<String, String> properties) {
    return new SinksTable();
  }

  private static final class SinksTable implements SupportsWrite {
    @Override
    public String name() {
      return "millstream-sinks";
    }

    @Override
    @Deprecated
    public StructType schema() {
      return SCHEMA;
    }

    @Override
    public Set<TableCapability> capabilities() {
      return Set.of(TableCapability.STREAMING_WRITE, TableCapability.BATCH_WRITE, TableCapability.ACCEPT_ANY_SCHEMA);
    }

    @Override
    public WriteBuilder newWriteBuilder(LogicalWriteInfo info) {
      return new Builder(info);
    }
  }

  /** Update mode is append here: a row's weight says whether it adds or takes back. */
  private record Builder(LogicalWriteInfo info) implements WriteBuilder, SupportsStreamingUpdateAsAppend {
    @Override
    public Write build() {
      // Behind the columns that are always there: whole rows, for the sinks that ask for them.
      StructField[] first = Arrays.copyOf(info.schema().fields(), SCHEMA.length());
      if (info.schema().length() < SCHEMA.length()
          || !DataType.equalsIgnoreNullability(new StructType(first), SCHEMA)) {
        throw SinkException.badOption("the sinks are handed " + info.schema().toDDL() + ", not " + SCHEMA.toDDL());
      }
      String sinks = info.options().get("sinks");
      if (sinks == null) {
        throw SinkException.badOption("option sinks is missing.");
      }
      boolean each = "each".equalsIgnoreCase(info.options().get("flush"));
      boolean barriers = "true".equalsIgnoreCase(info.options().get("barriers"));
      return new SinksWriteOf(sinks, info.schema(), each, barriers, Meters.of(SparkSession.active()));
    }
  }

  private record SinksWriteOf(String sinks, StructType schema, boolean each, boolean barriers, Meters meters)
      implements Write {
    @Override
    public StreamingWrite toStreaming() {
      return new SinksWrite(sinks, schema, each, barriers, meters);
    }

    @Override
    public BatchWrite toBatch() {
      return new SinksBatch(sinks, schema, meters);
    }
  }
}
