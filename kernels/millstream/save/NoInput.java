package millstream.save;

import java.util.Set;
import millstream.source.NoRows;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.streaming.StreamingRelationV2;
import org.apache.spark.sql.catalyst.streaming.StreamingSourceIdentifyingName;
import org.apache.spark.sql.catalyst.types.DataTypeUtils;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.classic.Dataset$;
import org.apache.spark.sql.connector.catalog.SupportsRead;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream;
import org.apache.spark.sql.connector.read.streaming.Offset;
import org.apache.spark.sql.connector.read.streaming.ReadLimit;
import org.apache.spark.sql.connector.read.streaming.SupportsTriggerAvailableNow;
import org.apache.spark.sql.execution.streaming.runtime.LongOffset;
import org.apache.spark.sql.execution.streaming.runtime.StreamingRelation;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import scala.Function1;
import scala.Option;
import scala.collection.immutable.Seq;
import scala.runtime.AbstractPartialFunction;

/**
 * A query, unchanged, whose sources have no rows and are not touched: one epoch of it leaves a checkpoint with all that
 * Spark records about its stages, which are empty.
 */
public final class NoInput {
  private static final AbstractPartialFunction<LogicalPlan, LogicalPlan> EACH = new AbstractPartialFunction<>() {
    @Override
    public boolean isDefinedAt(LogicalPlan node) {
      return node instanceof StreamingRelationV2 || node instanceof StreamingRelation;
    }

    @Override
    @SuppressWarnings("unchecked")
    public <A extends LogicalPlan, B> B applyOrElse(A node, Function1<A, B> otherwise) {
      return isDefinedAt(node) ? (B) without((LogicalPlan) (Object) node) : otherwise.apply(node);
    }
  };

  private NoInput() {}

  public static Dataset<Row> of(Dataset<Row> rows) {
    LogicalPlan plan = rows.logicalPlan().transform(EACH);
    return Dataset$.MODULE$.ofRows(rows.sparkSession(), plan);
  }

  private static LogicalPlan without(LogicalPlan source) {
    StructType schema = DataTypeUtils.fromAttributes(source.output());
    StreamingSourceIdentifyingName name = source instanceof StreamingRelationV2 two
        ? two.sourceIdentifyingName()
        : ((StreamingRelation) source).sourceIdentifyingName();
    return relation(source, new NoTable(schema, source.toString()), name);
  }

  @SuppressWarnings({"unchecked", "rawtypes"})
  private static LogicalPlan relation(LogicalPlan source, NoTable table, StreamingSourceIdentifyingName name) {
    return new StreamingRelationV2(
        Option.empty(),
        "no input",
        table,
        CaseInsensitiveStringMap.empty(),
        (Seq) source.output(),
        Option.empty(),
        Option.empty(),
        Option.empty(),
        name);
  }

  /** {@code of}: the source in whose place it is. Spark treats equal relations as one. */
  private record NoTable(StructType type, String of) implements SupportsRead {
    @Override
    @Deprecated
    public StructType schema() {
      return type;
    }

    @Override
    public String name() {
      return "no input";
    }

    @Override
    public Set<TableCapability> capabilities() {
      return Set.of(TableCapability.MICRO_BATCH_READ);
    }

    @Override
    public ScanBuilder newScanBuilder(CaseInsensitiveStringMap options) {
      return () -> new NoScan(type);
    }
  }

  private record NoScan(StructType readSchema) implements Scan {
    @Override
    public MicroBatchStream toMicroBatchStream(String checkpoint) {
      return new NoStream();
    }
  }

  private static final class NoStream implements MicroBatchStream, SupportsTriggerAvailableNow {
    @Override
    public Offset initialOffset() {
      return new LongOffset(0);
    }

    @Override
    public Offset deserializeOffset(String json) {
      return new LongOffset(Long.parseLong(json));
    }

    @Override
    public void prepareForTriggerAvailableNow() {}

    @Override
    public Offset latestOffset() {
      return new LongOffset(0);
    }

    @Override
    public Offset latestOffset(Offset start, ReadLimit limit) {
      return new LongOffset(0);
    }

    @Override
    public InputPartition[] planInputPartitions(Offset start, Offset end) {
      return new InputPartition[] {new NoRows()};
    }

    @Override
    public PartitionReaderFactory createReaderFactory() {
      return NoRows.readers();
    }

    @Override
    public void commit(Offset end) {}

    @Override
    public void stop() {}
  }
}
