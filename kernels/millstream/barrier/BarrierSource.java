package millstream.barrier;

import java.util.Map;
import java.util.Set;
import java.util.UUID;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.streaming.StreamingRelationV2;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.classic.Dataset$;
import org.apache.spark.sql.connector.catalog.SupportsRead;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.read.SupportsPushDownRequiredColumns;
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import scala.Function1;
import scala.runtime.AbstractPartialFunction;

/** A source, unchanged, in whose tasks barriers begin. */
public final class BarrierSource implements SupportsRead {
  private static final AbstractPartialFunction<LogicalPlan, LogicalPlan> EACH = new AbstractPartialFunction<>() {
    @Override
    public boolean isDefinedAt(LogicalPlan node) {
      return node instanceof StreamingRelationV2 source && source.table() instanceof SupportsRead;
    }

    @Override
    @SuppressWarnings("unchecked")
    public <A extends LogicalPlan, B> B applyOrElse(A node, Function1<A, B> otherwise) {
      return isDefinedAt(node) ? (B) with((StreamingRelationV2) (Object) node) : otherwise.apply(node);
    }
  };

  private final Table table;

  private BarrierSource(Table table) {
    this.table = table;
  }

  /** The same rows, before a query is made of them. */
  public static Dataset<Row> into(Dataset<Row> rows) {
    LogicalPlan plan = rows.logicalPlan().transform(EACH);
    return Dataset$.MODULE$.ofRows(rows.sparkSession(), plan);
  }

  private static StreamingRelationV2 with(StreamingRelationV2 source) {
    return source.copy(
        source.source(),
        source.sourceName(),
        new BarrierSource(source.table()),
        source.extraOptions(),
        source.output(),
        source.catalog(),
        source.identifier(),
        source.v1Relation(),
        source.sourceIdentifyingName());
  }

  /** Spark treats equal relations as one source. */
  @Override
  public boolean equals(Object other) {
    return other instanceof BarrierSource source && source.table.equals(table);
  }

  @Override
  public int hashCode() {
    return table.hashCode();
  }

  @Override
  public String name() {
    return table.name();
  }

  @Override
  @Deprecated
  public StructType schema() {
    return table.schema();
  }

  @Override
  public Map<String, String> properties() {
    return table.properties();
  }

  @Override
  public Set<TableCapability> capabilities() {
    return table.capabilities();
  }

  @Override
  public ScanBuilder newScanBuilder(CaseInsensitiveStringMap options) {
    return new Builder(((SupportsRead) table).newScanBuilder(options));
  }

  private record Builder(ScanBuilder inner) implements SupportsPushDownRequiredColumns {
    @Override
    public void pruneColumns(StructType required) {
      if (inner instanceof SupportsPushDownRequiredColumns prunes) {
        prunes.pruneColumns(required);
      }
    }

    @Override
    public Scan build() {
      return new WithBarriers(inner.build());
    }
  }

  private record WithBarriers(Scan inner) implements Scan {
    @Override
    public StructType readSchema() {
      return inner.readSchema();
    }

    @Override
    public String description() {
      return inner.description();
    }

    @Override
    public MicroBatchStream toMicroBatchStream(String checkpoint) {
      return new BarrierStream(
          inner.toMicroBatchStream(checkpoint), UUID.randomUUID().toString());
    }
  }
}
