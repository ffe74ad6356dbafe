package millstream.rules;

import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.expressions.CurrentTimestamp;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Now;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.classic.Dataset$;

/** {@code now()} as {@code current_timestamp()}: a streaming query sets only the latter to the time of its epoch. */
public final class EpochNow extends Rewrite {
  /** The same rows, before a query is made of them: what the optimizer is given has the machine's time already. */
  public static Dataset<Row> of(Dataset<Row> rows) {
    return Dataset$.MODULE$.ofRows(rows.sparkSession(), new EpochNow().apply(rows.logicalPlan()));
  }

  @Override
  boolean concerns(Expression expression) {
    return expression instanceof Now;
  }

  @Override
  Expression rewritten(Expression expression) {
    return new CurrentTimestamp();
  }
}
