package millstream.rules;

import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.expressions.CurrentBatchTimestamp;
import org.apache.spark.sql.catalyst.expressions.CurrentDate;
import org.apache.spark.sql.catalyst.expressions.CurrentTimestampLike;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.LocalTimestamp;
import org.apache.spark.sql.catalyst.expressions.TimeZoneAwareExpression;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.classic.Dataset$;
import scala.Option;

/** All functions of the current time give one moment: a test's clock in batch mode, where no epoch has a time. */
public final class FixedTime extends Rewrite {
  private final long millis;

  private FixedTime(long millis) {
    this.millis = millis;
  }

  /** The same rows, before a query is made of them: what the optimizer is given has the machine's time already. */
  public static Dataset<Row> of(Dataset<Row> rows, long millis) {
    return Dataset$.MODULE$.ofRows(rows.sparkSession(), new FixedTime(millis).apply(rows.logicalPlan()));
  }

  @Override
  boolean concerns(Expression expression) {
    return expression instanceof CurrentTimestampLike
        || expression instanceof LocalTimestamp
        || expression instanceof CurrentDate;
  }

  /** The literal that Spark would make of it in an epoch of that time. */
  @Override
  Expression rewritten(Expression expression) {
    Option<String> zone =
        expression instanceof TimeZoneAwareExpression aware ? aware.timeZoneId() : Option.apply("UTC");
    return new CurrentBatchTimestamp(millis, expression.dataType(), zone).toLiteral();
  }
}
