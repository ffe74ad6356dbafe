package millstream.rules;

import org.apache.spark.sql.catalyst.expressions.CurrentBatchTimestamp;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.GetStructField;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.types.StructType;
import scala.Option;

/**
 * Hands the time of an epoch to generated code from outside, as the only field of a struct. Spark writes it into the
 * code as a number: then each epoch has code of its own, to be compiled, and warmed up, anew.
 */
final class EpochTime extends Rewrite {
  @Override
  boolean concerns(Expression expression) {
    return expression instanceof CurrentBatchTimestamp;
  }

  @Override
  Expression rewritten(Expression expression) {
    Literal now = ((CurrentBatchTimestamp) expression).toLiteral();
    Object[] fields = {now.value()};
    Literal holder = new Literal(new GenericInternalRow(fields), new StructType().add("now", now.dataType(), false));
    return new GetStructField(holder, 0, Option.empty());
  }
}
