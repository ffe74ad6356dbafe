package millstream.rules;

import java.util.List;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.SparkStrategy;
import scala.jdk.javaapi.CollectionConverters;

/** What we add to Spark's optimizer and planner. */
public final class Rules {
  private Rules() {}

  /** From now on, in the queries of this session. */
  public static void into(SparkSession session) {
    List<Rule<LogicalPlan>> ours = List.of(new EpochTime(), new PlainSplit());
    session
        .experimental()
        .extraOptimizations_$eq(CollectionConverters.asScala(ours).toList());
    List<SparkStrategy> plans = List.of(new GroupedByHash(session));
    session
        .experimental()
        .extraStrategies_$eq(CollectionConverters.asScala(plans).toList());
  }
}
