package millstream.rules;

import java.util.List;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.SortOrder;
import org.apache.spark.sql.catalyst.plans.physical.Partitioning;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.execution.ColumnarRule;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.TransformWithStateExec;
import scala.Function1;
import scala.collection.immutable.IndexedSeq;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.AbstractPartialFunction;

/**
 * The part of a physical plan that feeds a stage, which stays on the driver.
 *
 * <p>A stage goes to its tasks with its whole plan, down to the sources, of which a task reads nothing but the names of
 * columns. It was written twice and read by every task: with small epochs, a fifth of what they cost.
 */
public final class OnDriver extends SparkPlan {
  private static final long serialVersionUID = 1L;

  /** NULL in a task. */
  private final transient SparkPlan child;

  private final Seq<Attribute> output;

  public OnDriver(SparkPlan child) {
    this.child = child;
    this.output = child.output();
  }

  /** Puts one below each stage of a plan, when all else is decided. */
  static final class BelowStages extends ColumnarRule {
    @Override
    public Rule<SparkPlan> postColumnarTransitions() {
      return new Rule<>() {
        @Override
        public SparkPlan apply(SparkPlan plan) {
          return plan.transformUp(new Stages());
        }
      };
    }
  }

  private static final class Stages extends AbstractPartialFunction<SparkPlan, SparkPlan> {
    @Override
    public boolean isDefinedAt(SparkPlan plan) {
      return plan instanceof TransformWithStateExec stage
          && !stage.isRealTimeMode()
          && !(stage.child() instanceof OnDriver);
    }

    @Override
    @SuppressWarnings("unchecked")
    public <A extends SparkPlan, B> B applyOrElse(A plan, Function1<A, B> otherwise) {
      if (!isDefinedAt(plan)) {
        return otherwise.apply(plan);
      }
      TransformWithStateExec stage = (TransformWithStateExec) (SparkPlan) plan;
      return (B) stage.withNewChildren(seq(List.of(new OnDriver(stage.left()), stage.right())));
    }
  }

  private static Seq<SparkPlan> seq(List<SparkPlan> plans) {
    return CollectionConverters.asScala(plans).toSeq();
  }

  @Override
  public Seq<Attribute> output() {
    return output;
  }

  @Override
  public Seq<SparkPlan> children() {
    return seq(child == null ? List.of() : List.of(child));
  }

  @Override
  public SparkPlan withNewChildrenInternal(IndexedSeq<SparkPlan> children) {
    return new OnDriver(children.head());
  }

  @Override
  public Partitioning outputPartitioning() {
    return child.outputPartitioning();
  }

  @Override
  public Seq<SortOrder> outputOrdering() {
    return child.outputOrdering();
  }

  @Override
  public RDD<InternalRow> doExecute() {
    return child.execute();
  }

  @Override
  public int productArity() {
    return 1;
  }

  @Override
  public Object productElement(int at) {
    return child;
  }

  @Override
  public boolean canEqual(Object other) {
    return other instanceof OnDriver;
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof OnDriver same && same.child.equals(child);
  }

  @Override
  public int hashCode() {
    return OnDriver.class.hashCode() + (child == null ? 0 : child.hashCode());
  }
}
