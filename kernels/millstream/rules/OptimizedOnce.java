package millstream.rules;

import org.apache.spark.sql.catalyst.QueryPlanningTracker;
import org.apache.spark.sql.catalyst.optimizer.Optimizer;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.SparkOptimizer;

/** Spark's optimizer, which is asked once for all epochs whose plans have the same shape. */
final class OptimizedOnce extends SparkOptimizer {
  private final Optimizer sparks;
  private final KnownPlans optimized = new KnownPlans();

  OptimizedOnce(Optimizer sparks, SparkSession session) {
    super(
        session.sessionState().catalogManager(),
        session.sessionState().catalog(),
        session.sessionState().experimentalMethods());
    this.sparks = sparks;
  }

  @Override
  public LogicalPlan executeAndTrack(LogicalPlan plan, QueryPlanningTracker tracker) {
    EpochPlan epoch = EpochPlan.of(plan);
    LogicalPlan known = epoch == null ? null : optimized.get(epoch.shape());
    if (known != null) {
      return epoch.applied(known);
    }
    LogicalPlan result = sparks.executeAndTrack(plan, tracker);
    if (epoch != null && EpochPlan.applies(result)) {
      optimized.put(epoch.shape(), result);
    }
    return result;
  }

  @Override
  public LogicalPlan execute(LogicalPlan plan) {
    return sparks.execute(plan);
  }
}
