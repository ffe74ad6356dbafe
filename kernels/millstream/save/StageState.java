package millstream.save;

import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import millstream.journal.HadoopSettings;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.catalog.SupportsRead;
import org.apache.spark.sql.connector.read.Batch;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import org.apache.spark.sql.execution.datasources.v2.state.metadata.StateMetadataPartitionReader;
import org.apache.spark.sql.execution.streaming.state.OperatorStateMetadata;
import org.apache.spark.sql.execution.streaming.state.OperatorStateMetadataV2;
import org.apache.spark.sql.execution.streaming.state.StateSchemaCompatibilityChecker;
import org.apache.spark.sql.execution.streaming.state.StateStore;
import org.apache.spark.sql.execution.streaming.state.StateStoreColFamilySchema;
import org.apache.spark.sql.execution.streaming.state.StateStoreId;
import org.apache.spark.sql.execution.streaming.state.StateStoreProviderId;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.util.SerializableConfiguration;
import scala.Option;
import scala.jdk.javaapi.CollectionConverters;

/**
 * All that a stage keeps, at the end of one epoch: every column family of each of its state stores, in one pass.
 *
 * <p>Read on the driver, without a Spark job: in real time a job's tasks hold all slots for as long as it runs.
 */
final class StageState {
  /** The types of a column family's keys and values. */
  record Family(StructType key, StructType value) {}

  private final InputPartition[] partitions;
  private final PartitionReaderFactory readers;
  /** What the stage groups rows by: a tag, if it has several operators, and slots. */
  final StructType key;

  final Map<String, Family> families;

  private StageState(DataSourceV2Relation source, Map<String, Family> families) {
    Batch batch =
        ((SupportsRead) source.table()).newScanBuilder(source.options()).build().toBatch();
    this.partitions = batch.planInputPartitions();
    this.readers = batch.createReaderFactory();
    this.key = (StructType) source.table().columns()[0].dataType();
    this.families = families;
  }

  /** {@code operator}: as Spark counts them, from the last stage. */
  static StageState of(SparkSession spark, String checkpoint, long epoch, int operator) {
    Dataset<Row> rows = spark
        .read()
        .format("statestore")
        .option("path", checkpoint)
        .option("batchId", epoch)
        .option("operatorId", operator)
        .option("_readAllColumnFamilies", "true")
        .load();
    var plan =
        ((org.apache.spark.sql.classic.Dataset<Row>) rows).queryExecution().analyzed();
    return new StageState((DataSourceV2Relation) plan.collectLeaves().head(), families(checkpoint, epoch, operator));
  }

  private static Map<String, Family> families(String checkpoint, long epoch, int operator) {
    Configuration conf = HadoopSettings.conf();
    OperatorStateMetadata[] all = new StateMetadataPartitionReader(
            checkpoint, new SerializableConfiguration(conf), epoch)
        .allOperatorStateMetadata();
    OperatorStateMetadataV2 own = (OperatorStateMetadataV2) Arrays.stream(all)
        .filter(one -> one.operatorInfo().operatorId() == operator)
        .findFirst()
        .orElseThrow(() -> new IllegalStateException("the checkpoint has no stage " + operator));
    List<Path> files = CollectionConverters.asJava(own.stateStoreInfo()[0].stateSchemaFilePaths()).stream()
        .map(Path::new)
        .toList();
    StateStoreId store = new StateStoreId(
        new Path(checkpoint, "state").toString(),
        operator,
        StateStore.PARTITION_ID_TO_CHECK_SCHEMA(),
        own.stateStoreInfo()[0].storeName());
    StateSchemaCompatibilityChecker schemas = new StateSchemaCompatibilityChecker(
        new StateStoreProviderId(store, UUID.randomUUID()),
        conf,
        CollectionConverters.asScala(files).toList(),
        Option.empty(),
        StateSchemaCompatibilityChecker.$lessinit$greater$default$5());
    Map<String, Family> found = new HashMap<>();
    for (StateStoreColFamilySchema one : CollectionConverters.asJava(schemas.readSchemaFile())) {
      found.put(one.colFamilyName(), new Family(one.keySchema(), one.valueSchema()));
    }
    return found;
  }

  int partitions() {
    return partitions.length;
  }

  /** Rows of one partition: partition key, key and value as bytes, the column family's name. */
  PartitionReader<InternalRow> open(int partition) {
    return readers.createReader(partitions[partition]);
  }
}
