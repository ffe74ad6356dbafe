package millstream.rules;

import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.rules.Rule;
import scala.Function1;
import scala.runtime.AbstractPartialFunction;

/** A rule of Spark's optimizer that replaces one expression by another, wherever it is. */
abstract class Rewrite extends Rule<LogicalPlan> {
  private final AbstractPartialFunction<Expression, Expression> everywhere = new AbstractPartialFunction<>() {
    @Override
    public boolean isDefinedAt(Expression expression) {
      return concerns(expression);
    }

    @Override
    @SuppressWarnings("unchecked")
    public <A extends Expression, B> B applyOrElse(A expression, Function1<A, B> otherwise) {
      return concerns(expression) ? (B) rewritten(expression) : otherwise.apply(expression);
    }
  };

  abstract boolean concerns(Expression expression);

  abstract Expression rewritten(Expression expression);

  @Override
  public final LogicalPlan apply(LogicalPlan plan) {
    return plan.transformAllExpressions(everywhere);
  }
}
