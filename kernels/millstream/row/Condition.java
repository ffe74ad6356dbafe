package millstream.row;

import java.io.Serializable;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.BasePredicate;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Predicate;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.types.StructType;
import scala.collection.immutable.Seq;

/** A user's condition on rows that a kernel holds: analysed and compiled by Spark, never interpreted by hand. */
public final class Condition implements Serializable {
  private static final long serialVersionUID = 1L;

  private final Expression met;
  private final Seq<Attribute> columns;
  private transient BasePredicate compiled;

  private Condition(Expression met, Seq<Attribute> columns) {
    this.met = met;
    this.columns = columns;
  }

  /** {@code sql} over the columns of {@code type}. */
  public static Condition of(SparkSession spark, String sql, StructType type) {
    LogicalPlan plan = analysed(spark, sql, type);
    Expression met = plan.expressions().head().children().head();
    return new Condition(met, plan.children().head().output());
  }

  /** A projection to a user's expression. */
  static LogicalPlan analysed(SparkSession spark, String sql, StructType type) {
    JavaSparkContext context = JavaSparkContext.fromSparkContext(spark.sparkContext());
    // Not a local relation: Spark would compute the answer for no rows, and throw the expression away.
    Dataset<Row> rows = (Dataset<Row>) spark.createDataFrame(context.<Row>emptyRDD(), type);
    return rows.selectExpr("(" + sql + ") AS met").queryExecution().optimizedPlan();
  }

  /** NULL is not met, as in SQL. */
  public boolean meets(InternalRow row) {
    if (compiled == null) {
      compiled = Predicate.create(met, columns);
      compiled.initialize(0);
    }
    return compiled.eval(row);
  }
}
