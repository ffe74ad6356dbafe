package millstream.rules;

import java.util.ArrayList;
import java.util.List;
import millstream.stage.EndOfInput;
import millstream.stage.GroupedExec;
import millstream.stage.Severed;
import millstream.stage.Stage;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.plans.logical.DeserializeToObject;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.MapPartitions;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.SerializeFromObject;
import org.apache.spark.sql.catalyst.plans.logical.TransformWithState;
import org.apache.spark.sql.catalyst.plans.physical.HashPartitioning;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.SerializeFromObjectExec;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.SparkStrategy;
import org.apache.spark.sql.execution.exchange.ENSURE_REQUIREMENTS$;
import org.apache.spark.sql.execution.exchange.ShuffleExchangeExec;
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.TransformWithStateExec;
import org.apache.spark.sql.internal.SQLConf;
import scala.Option;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Brings the rows of a key together by a hash of it, in stages whose operators gather rows ({@link GroupedExec}).
 *
 * <p>Spark sorts by all columns of the key. Of these the first, the operator's tag, is the same in most rows, so that
 * two rows cannot be told apart by the eight bytes of each that a sort has at hand. All that is wanted is that equal
 * keys stand side by side, and that the rows which end the input (see {@link EndOfInput}) come last.
 *
 * <p>Tasks of any stage are sent nothing of what is below its shuffle ({@link Severed}).
 */
final class GroupedByHash extends SparkStrategy {
  private final SparkSession session;

  GroupedByHash(SparkSession session) {
    this.session = session;
  }

  /** It is asked about what stands upon a stage: of stages themselves, Spark's own strategy is asked first. */
  @Override
  public Seq<SparkPlan> apply(LogicalPlan plan) {
    if (plan instanceof SerializeFromObject above && above.child() instanceof TransformWithState stage) {
      SparkPlan planned = planned(stage);
      return planned == null ? seq(List.of()) : seq(List.of(new SerializeFromObjectExec(above.serializer(), planned)));
    }
    return seq(List.of());
  }

  /** A stage in epochs; NULL: it is any other. */
  private SparkPlan planned(TransformWithState plan) {
    if ((Object) plan.statefulProcessor() instanceof Stage stage
        && session
                .sessionState()
                .planner()
                .StreamingTransformWithStateStrategy()
                .apply(plan)
                .head()
            instanceof TransformWithStateExec exec
        && !exec.isRealTimeMode()
        && !exec.hasInitialState()) {
      SparkPlan rows =
          stage.gathersRows() ? rows(plan.child(), exec.groupingAttributes()) : new Severed(planLater(plan.child()));
      return rows == null ? null : exec.withNewChildren(seq(List.of(rows, exec.initialState())));
    }
    return null;
  }

  /** The rows of a stage, shuffled and grouped, and their end; NULL: they are not made as is expected here. */
  private SparkPlan rows(LogicalPlan plan, Seq<Attribute> keys) {
    if (plan instanceof SerializeFromObject rows
        && rows.child() instanceof MapPartitions step
        && (Object) step.func() instanceof EndOfInput end
        && step.child() instanceof DeserializeToObject objects
        && names(objects.child()).equals(names(rows))) {
      SparkPlan own = new Severed(planLater(renamed(objects.child(), rows.output())));
      List<Expression> by = new ArrayList<>(CollectionConverters.asJava(keys));
      HashPartitioning byKey = new HashPartitioning(seq(by), SQLConf.get().numShufflePartitions());
      SparkPlan shuffled = new ShuffleExchangeExec(byKey, own, ENSURE_REQUIREMENTS$.MODULE$, Option.empty(), false);
      return GroupedExec.of(end, keys, rows.output(), shuffled);
    }
    return null;
  }

  private static List<String> names(LogicalPlan plan) {
    return CollectionConverters.asJava(plan.output()).stream()
        .map(Attribute::name)
        .toList();
  }

  /** The columns of a plan as if they were these others, in whose place they stand. */
  private static LogicalPlan renamed(LogicalPlan plan, Seq<Attribute> as) {
    List<NamedExpression> columns = new ArrayList<>();
    for (int i = 0; i < as.size(); i++) {
      Attribute one = as.apply(i);
      Seq<String> none = seq(List.of());
      columns.add(new Alias(plan.output().apply(i), one.name(), one.exprId(), none, Option.empty(), none));
    }
    return new Project(seq(columns), plan);
  }

  private static <T> Seq<T> seq(List<T> items) {
    return CollectionConverters.asScala(items).toSeq();
  }
}
