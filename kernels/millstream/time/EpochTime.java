package millstream.time;

import java.util.List;
import org.apache.spark.sql.catalyst.expressions.CurrentBatchTimestamp;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.GetStructField;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.types.StructType;
import scala.Function1;
import scala.Option;
import scala.PartialFunction;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.AbstractPartialFunction;

/**
 * Hands the time of an epoch to generated code from outside, as the only field of a struct. Spark writes it into the
 * code as a number: then each epoch has code of its own, to be compiled, and warmed up, anew.
 */
public final class EpochTime extends Rule<LogicalPlan> {
  private static final PartialFunction<Expression, Expression> HAND_OVER =
      new AbstractPartialFunction<>() {
        @Override
        public boolean isDefinedAt(Expression expression) {
          return expression instanceof CurrentBatchTimestamp;
        }

        @Override
        @SuppressWarnings("unchecked")
        public <A extends Expression, B> B applyOrElse(A expression, Function1<A, B> otherwise) {
          return expression instanceof CurrentBatchTimestamp time ? (B) handed(time) : otherwise.apply(expression);
        }
      };

  /** From now on, in the queries of this session. */
  public static void into(SparkSession session) {
    session.experimental().extraOptimizations_$eq(
        CollectionConverters.asScala(List.<Rule<LogicalPlan>>of(new EpochTime())).toList());
  }

  private static Expression handed(CurrentBatchTimestamp time) {
    Literal now = time.toLiteral();
    Object[] fields = {now.value()};
    Literal holder = new Literal(
        new GenericInternalRow(fields), new StructType().add("now", now.dataType(), false));
    return new GetStructField(holder, 0, Option.empty());
  }

  @Override
  public LogicalPlan apply(LogicalPlan plan) {
    return (LogicalPlan) plan.transformAllExpressions(HAND_OVER);
  }
}
