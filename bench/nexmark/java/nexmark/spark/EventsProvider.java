package nexmark.spark;

import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.connector.catalog.SupportsRead;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.catalog.TableProvider;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** The file of events as a stream of Spark: {@code folder}, {@code partitions}, {@code eventsPerEpoch}. */
public final class EventsProvider implements TableProvider {
  static final StructType SCHEMA = (StructType) DataType.fromDDL("kind INT, date_time TIMESTAMP, person STRUCT<id:"
      + " BIGINT, name: STRING, email: STRING, credit_card: STRING, city: STRING, state: STRING, date_time: TIMESTAMP,"
      + " extra: STRING>, auction STRUCT<id: BIGINT, item_name: STRING, description: STRING, initial_bid: BIGINT,"
      + " reserve: BIGINT, date_time: TIMESTAMP, expires: TIMESTAMP, seller: BIGINT, category: BIGINT, extra: STRING>,"
      + " bid STRUCT<auction: BIGINT, bidder: BIGINT, price: BIGINT, channel: STRING, url: STRING, date_time:"
      + " TIMESTAMP, extra: STRING>");

  @Override
  public StructType inferSchema(CaseInsensitiveStringMap options) {
    return SCHEMA;
  }

  /** A reader may say the schema again. */
  @Override
  public boolean supportsExternalMetadata() {
    return true;
  }

  @Override
  public Table getTable(StructType schema, Transform[] partitioning, Map<String, String> properties) {
    return new EventsTable();
  }

  private static final class EventsTable implements SupportsRead {
    @Override
    public String name() {
      return "nexmark events";
    }

    @Override
    @Deprecated
    public StructType schema() {
      return SCHEMA;
    }

    @Override
    public Set<TableCapability> capabilities() {
      return Set.of(TableCapability.MICRO_BATCH_READ);
    }

    @Override
    public ScanBuilder newScanBuilder(CaseInsensitiveStringMap options) {
      String folder = options.get("folder");
      int partitions = options.getInt("partitions", 2);
      long most = options.getLong("eventsPerEpoch", Long.MAX_VALUE);
      return () -> new EventsScan(folder, partitions, most);
    }
  }

  private record EventsScan(String folder, int partitions, long most) implements Scan {
    @Override
    public StructType readSchema() {
      return SCHEMA;
    }

    @Override
    public MicroBatchStream toMicroBatchStream(String checkpointLocation) {
      return new EventsStream(folder, partitions, most);
    }
  }
}
