package millstream.rules;

import java.util.IdentityHashMap;
import java.util.Map;
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.OneRowRelation;
import org.apache.spark.sql.catalyst.trees.TreePattern;
import org.apache.spark.sql.connector.read.streaming.Offset;
import org.apache.spark.sql.connector.read.streaming.SparkDataStream;
import org.apache.spark.sql.execution.datasources.v2.StreamingDataSourceV2ScanRelation;
import org.apache.spark.sql.execution.datasources.v2.WriteToDataSourceV2;
import org.apache.spark.sql.execution.streaming.sources.MicroBatchWrite;
import org.apache.spark.sql.execution.streaming.sources.WriteToMicroBatchDataSource;
import scala.Function1;
import scala.Option;
import scala.runtime.AbstractPartialFunction;

/**
 * The logical plan of an epoch, taken apart: what only this epoch has (its number, and from where to where each source
 * is read), and what is the same in every epoch in which the same sources have rows.
 */
// Spark's own plans have the node that it deprecates.
@SuppressWarnings("deprecation")
final class EpochPlan {
  private record Range(Option<Offset> start, Option<Offset> end) {}

  private final long epoch;
  private final Map<SparkDataStream, Range> ranges = new IdentityHashMap<>();
  private final LogicalPlan shape;

  private EpochPlan(WriteToMicroBatchDataSource plan) {
    epoch = (Long) plan.batchId().get();
    shape = plan.copy(
            plan.relation(), plan.query(), plan.queryId(), plan.writeOptions(), plan.outputMode(), Option.empty())
        .transform(new InSources() {
          @Override
          StreamingDataSourceV2ScanRelation changed(StreamingDataSourceV2ScanRelation source) {
            ranges.put(source.stream(), new Range(source.startOffset(), source.endOffset()));
            return reading(source, new Range(Option.empty(), Option.empty()));
          }
        });
  }

  /** NULL if it is no epoch's, or if it may hold more that only this epoch has. */
  static EpochPlan of(LogicalPlan plan) {
    boolean known = plan instanceof WriteToMicroBatchDataSource write
        && write.batchId().isDefined()
        && !plan.containsPattern(TreePattern.CURRENT_LIKE())
        && !plan.containsPattern(TreePattern.PLAN_EXPRESSION())
        && plan.collectLeaves()
            .forall(leaf -> leaf instanceof StreamingDataSourceV2ScanRelation
                || leaf instanceof LocalRelation
                || leaf instanceof OneRowRelation);
    return known ? new EpochPlan((WriteToMicroBatchDataSource) plan) : null;
  }

  /** What is the same in other epochs. */
  LogicalPlan shape() {
    return shape;
  }

  /** Whether {@link #applied} knows all that is an epoch's own in a plan that was optimized. */
  static boolean applies(LogicalPlan optimized) {
    return optimized instanceof WriteToDataSourceV2 write && write.batchWrite() instanceof MicroBatchWrite;
  }

  /** This epoch's plan, by that of another epoch of the same shape after Spark has optimized it. */
  LogicalPlan applied(LogicalPlan optimized) {
    WriteToDataSourceV2 write = (WriteToDataSourceV2) optimized.transform(new InSources() {
      @Override
      StreamingDataSourceV2ScanRelation changed(StreamingDataSourceV2ScanRelation source) {
        return reading(source, ranges.get(source.stream()));
      }
    });
    MicroBatchWrite before = (MicroBatchWrite) write.batchWrite();
    return write.copy(
        write.relation(), new MicroBatchWrite(epoch, before.writeSupport()), write.query(), write.customMetrics());
  }

  private static StreamingDataSourceV2ScanRelation reading(StreamingDataSourceV2ScanRelation source, Range range) {
    return source.copy(source.relation(), source.scan(), source.output(), source.stream(), range.start(), range.end());
  }

  private abstract static class InSources extends AbstractPartialFunction<LogicalPlan, LogicalPlan> {
    abstract StreamingDataSourceV2ScanRelation changed(StreamingDataSourceV2ScanRelation source);

    @Override
    public boolean isDefinedAt(LogicalPlan plan) {
      return plan instanceof StreamingDataSourceV2ScanRelation;
    }

    @Override
    @SuppressWarnings("unchecked")
    public <A extends LogicalPlan, B> B applyOrElse(A plan, Function1<A, B> otherwise) {
      return plan instanceof StreamingDataSourceV2ScanRelation source ? (B) changed(source) : otherwise.apply(plan);
    }
  }
}
