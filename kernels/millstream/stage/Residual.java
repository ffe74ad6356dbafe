package millstream.stage;

import java.io.Serializable;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.BasePredicate;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.Predicate$;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.types.StructType;
import scala.collection.immutable.Seq;

/** What two rows of a key must meet to be partners, beyond their key: analysed and compiled by Spark. */
final class Residual implements Serializable {
  private static final long serialVersionUID = 1L;

  private final Expression condition;
  private final Seq<Attribute> sides;
  private transient BasePredicate predicate;
  private transient GenericInternalRow pair;

  private Residual(Expression condition, Seq<Attribute> sides) {
    this.condition = condition;
    this.sides = sides;
  }

  /** SQL over {@code l.…} and {@code r.…}; NULL counts as false. */
  static Residual of(String sql, StructType left, StructType right, SparkSession session) {
    StructType pair = new StructType().add("l", left, true).add("r", right, true);
    Dataset<Row> none = session.createDataFrame(session.emptyDataFrame().javaRDD(), pair);
    Dataset<Row> asked = none.selectExpr("coalesce(" + sql + ", false) AS met");
    LogicalPlan plan =
        ((org.apache.spark.sql.classic.Dataset<Row>) asked).queryExecution().optimizedPlan();
    Expression named = plan.expressions().head();
    return new Residual(named.children().head(), plan.children().head().output());
  }

  boolean met(InternalRow left, InternalRow right) {
    if (predicate == null) {
      predicate = Predicate$.MODULE$.create(condition, sides);
      predicate.initialize(0);
      pair = new GenericInternalRow(2);
    }
    pair.update(0, left);
    pair.update(1, right);
    return predicate.eval(pair);
  }
}
