package millstream.save;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import org.apache.spark.sql.execution.streaming.checkpointing.CommitMetadataBase;
import org.apache.spark.sql.execution.streaming.runtime.StreamingQueryCheckpointMetadata;
import org.apache.spark.sql.execution.streaming.state.StateRewriter;
import org.apache.spark.sql.functions;
import org.apache.spark.sql.types.StructType;
import scala.Option;
import scala.runtime.AbstractFunction1;

/** Lists of a savepoint, straight into the state stores of a checkpoint, by Spark's own writer. */
public final class Restoring {
  private record Part(Dataset<Row> rows, String family) {}

  private final String checkpoint;
  private final long epoch;
  private final Map<Integer, StageState> stages = new TreeMap<>();
  private final Map<Integer, List<Part>> parts = new TreeMap<>();

  /** {@code epoch}: one that the checkpoint has, whose state is empty. */
  public Restoring(String checkpoint, long epoch) {
    this.checkpoint = checkpoint;
    this.epoch = epoch;
  }

  private StageState stage(SparkSession spark, int stage) {
    return stages.computeIfAbsent(stage, any -> StageState.of(spark, checkpoint, epoch, stage));
  }

  /** The types of a stage's keys, as JSON. */
  public String stageKey(SparkSession spark, int stage) {
    return stage(spark, stage).key.json();
  }

  /** The types of keys and values of a column family, as JSON of a struct of both; null: there is none. */
  public String family(SparkSession spark, int stage, String name) {
    StageState.Family found = stage(spark, stage).families.get(name);
    return found == null
        ? null
        : new StructType().add("key", found.key()).add("value", found.value()).json();
  }

  /** {@code rows}: the stage's key, key and value as they stand in the family, and where an item stands in its list. */
  public void add(int stage, Dataset<Row> rows, String family) {
    parts.computeIfAbsent(stage, any -> new ArrayList<>()).add(new Part(rows, family));
  }

  /** Writes all that was added as the state of an epoch; returns the content of its commit, as JSON. */
  public String write(SparkSession spark, long to, int partitions) {
    StreamingQueryCheckpointMetadata logs = new StreamingQueryCheckpointMetadata(spark, checkpoint, false);
    var transform = new AbstractFunction1<Dataset<Row>, Dataset<Row>>() {
      @Override
      public Dataset<Row> apply(Dataset<Row> nothing) {
        return saved(nothing, partitions);
      }
    };
    var hadoop =
        ((org.apache.spark.sql.classic.SparkSession) spark).sessionState().newHadoopConf();
    var ids = new StateRewriter(
            spark, epoch, to, checkpoint, hadoop, Option.empty(), Option.apply(transform), Option.apply(logs))
        .run();
    CommitMetadataBase before = logs.commitLog().get(epoch).get();
    return before.withStateUniqueIds(ids).json();
  }

  /** All of a stage, each key where its task will look for it, the items of a list in their order. */
  private Dataset<Row> saved(Dataset<Row> nothing, int partitions) {
    Dataset<Row> whole = null;
    for (Part part : parts.getOrDefault(stageOf(nothing), List.of())) {
      Dataset<Row> encoded = EncodedRows.of(part.rows, part.family, nothing.schema());
      whole = whole == null ? encoded : whole.union(encoded);
    }
    if (whole == null) {
      return nothing.where(functions.lit(false)).repartition(partitions, functions.col("partition_key"));
    }
    return whole
        .repartition(partitions, functions.col("partition_key"))
        .sortWithinPartitions(EncodedRows.INDEX)
        .drop(EncodedRows.INDEX);
  }

  private static int stageOf(Dataset<Row> state) {
    var plan =
        ((org.apache.spark.sql.classic.Dataset<Row>) state).queryExecution().analyzed();
    DataSourceV2Relation relation = (DataSourceV2Relation) plan.collectLeaves().head();
    return Integer.parseInt(relation.options().get("operatorId"));
  }
}
