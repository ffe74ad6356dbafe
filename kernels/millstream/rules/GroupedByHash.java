package millstream.rules;

import java.util.ArrayList;
import java.util.List;
import millstream.stage.EndOfInput;
import millstream.stage.EndOfInputExec;
import millstream.stage.Stage;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Ascending$;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GreaterThanOrEqual;
import org.apache.spark.sql.catalyst.expressions.If;
import org.apache.spark.sql.catalyst.expressions.Literal$;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.NullsFirst$;
import org.apache.spark.sql.catalyst.expressions.SortOrder;
import org.apache.spark.sql.catalyst.expressions.XxHash64;
import org.apache.spark.sql.catalyst.plans.logical.DeserializeToObject;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.MapPartitions;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.SerializeFromObject;
import org.apache.spark.sql.catalyst.plans.logical.TransformWithState;
import org.apache.spark.sql.catalyst.plans.physical.HashPartitioning;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.SortExec;
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
 * Brings the rows of a key together by a hash of it, in stages whose operators gather rows.
 *
 * <p>Spark sorts by all columns of the key. Of these the first, the operator's tag, is the same in most rows, so that
 * two rows cannot be told apart by the eight bytes of each that a sort has at hand. All that is wanted is that equal
 * keys stand side by side, and that the rows which end the input (see {@code EndOfInput}) come last.
 */
final class GroupedByHash extends SparkStrategy {
  /** As Spark's own hashes have it. */
  private static final long SEED = 42;

  private final SparkSession session;

  GroupedByHash(SparkSession session) {
    this.session = session;
  }

  @Override
  public Seq<SparkPlan> apply(LogicalPlan plan) {
    if (plan instanceof TransformWithState grouped
        && (Object) grouped.statefulProcessor() instanceof Stage stage
        && stage.gathersRows()) {
      Seq<SparkPlan> planned =
          session.sessionState().planner().StreamingTransformWithStateStrategy().apply(plan);
      if (planned.size() == 1
          && planned.head() instanceof TransformWithStateExec exec
          && !exec.isRealTimeMode()
          && !exec.hasInitialState()) {
        SparkPlan rows = rows(grouped.child(), exec.groupingAttributes(), stage.tags());
        return seq(List.of(exec.withNewChildren(seq(List.of(rows, exec.initialState())))));
      }
    }
    return seq(List.of());
  }

  /** The rows of a stage, shuffled and in order, and their end. */
  private SparkPlan rows(LogicalPlan plan, Seq<Attribute> keys, int tags) {
    if (plan instanceof SerializeFromObject rows
        && rows.child() instanceof MapPartitions step
        && (Object) step.func() instanceof EndOfInput end
        && step.child() instanceof DeserializeToObject objects) {
      return new EndOfInputExec(end, rows.output(), sorted(renamed(objects.child(), rows.output()), keys, tags));
    }
    return sorted(plan, keys, tags);
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

  /** Shuffled as the stage wants them, and in the order of their hash. */
  private SparkPlan sorted(LogicalPlan plan, Seq<Attribute> attributes, int tags) {
    List<Expression> keys = new ArrayList<>(CollectionConverters.asJava(attributes));
    HashPartitioning byKey = new HashPartitioning(seq(keys), SQLConf.get().numShufflePartitions());
    SparkPlan shuffled =
        new ShuffleExchangeExec(byKey, planLater(plan), ENSURE_REQUIREMENTS$.MODULE$, Option.empty(), false);
    return new SortExec(seq(order(keys, tags)), false, shuffled, 0);
  }

  /**
   * By hash, and then by all columns, because different keys may have the same.
   *
   * <p>What is said to be of the same order as its neighbour makes Spark find the order that it asks for, by the
   * columns of the key alone, and not sort once more.
   */
  private static List<SortOrder> order(List<Expression> keys, int tags) {
    Expression hash = new XxHash64(seq(keys), SEED);
    Expression ends = new GreaterThanOrEqual(keys.get(0), literal(tags));
    List<SortOrder> order = new ArrayList<>();
    order.add(ascending(new If(ends, literal(Long.MAX_VALUE), hash), keys.get(0)));
    for (int i = 0; i < keys.size(); i++) {
      order.add(ascending(keys.get(i), keys.get(Math.min(i + 1, keys.size() - 1))));
    }
    return order;
  }

  private static Expression literal(Object value) {
    return Literal$.MODULE$.apply(value);
  }

  private static SortOrder ascending(Expression by, Expression same) {
    return new SortOrder(by, Ascending$.MODULE$, NullsFirst$.MODULE$, seq(List.of(same)));
  }

  private static <T> Seq<T> seq(List<T> items) {
    return CollectionConverters.asScala(items).toSeq();
  }
}
