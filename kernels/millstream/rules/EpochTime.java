package millstream.rules;

import java.util.List;
import millstream.barrier.BarrierTime;
import millstream.barrier.Coordinator;
import org.apache.spark.sql.catalyst.expressions.Cast$;
import org.apache.spark.sql.catalyst.expressions.CurrentBatchTimestamp;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.GetStructField;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.objects.StaticInvoke;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.AbstractDataType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import scala.Option;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Hands the time of an epoch to generated code from outside, as the only field of a struct. Spark would write it into
 * the code as a number: then each epoch would have its own code, to be compiled and warmed up.
 *
 * <p>Where barriers flow, a query is planned once, and the time is that of the last barrier.
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
    Expression first = new GetStructField(holder, 0, Option.empty());
    return Coordinator.named(SQLConf.get()) ? ofBarrier((CurrentBatchTimestamp) expression, first) : first;
  }

  /** {@code first}: the time until a barrier has passed. */
  private static Expression ofBarrier(CurrentBatchTimestamp asked, Expression first) {
    Option<String> zone = asked.timeZoneId();
    boolean instant = asked.dataType().equals(DataTypes.TimestampType);
    Expression from = instant ? first : cast(first, DataTypes.TimestampType, zone);
    Expression now = new StaticInvoke(
        BarrierTime.class,
        DataTypes.TimestampType,
        "micros",
        CollectionConverters.asScala(List.of(from)).toSeq(),
        CollectionConverters.asScala(List.<AbstractDataType>of()).toSeq(),
        true,
        false,
        // Otherwise it would be computed only once.
        false,
        Option.empty());
    return instant ? now : cast(now, asked.dataType(), zone);
  }

  private static Expression cast(Expression time, DataType type, Option<String> zone) {
    return Cast$.MODULE$.apply(time, type, zone, Cast$.MODULE$.apply$default$4());
  }
}
