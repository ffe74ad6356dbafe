package millstream.row;

import java.io.Serializable;
import java.util.List;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.types.StructType;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/** What a reader sees of a row that a kernel holds: computed by Spark, as the reader will. */
public final class Image implements Serializable {
  private static final long serialVersionUID = 1L;

  private final Expression seen;
  private final Seq<Attribute> columns;
  private transient UnsafeProjection compiled;
  private transient GenericInternalRow holder;

  private Image(Expression seen, Seq<Attribute> columns) {
    this.seen = seen;
    this.columns = columns;
  }

  /** {@code sql} over {@code row}, of that type. */
  public static Image of(SparkSession spark, String sql, StructType type) {
    LogicalPlan plan = Condition.analysed(spark, sql, new StructType().add("row", type, false));
    Expression seen = plan.expressions().head().children().head();
    return new Image(seen, plan.children().head().output());
  }

  /** Whether two rows look the same. */
  public boolean same(InternalRow one, InternalRow other) {
    UnsafeRow first = of(one).copy();
    return first.equals(of(other));
  }

  /** The struct that it is to a reader, until the next one is asked for. */
  public InternalRow seen(InternalRow row) {
    return of(row).getStruct(0, type().length());
  }

  /** Of what {@link #seen} gives. */
  public StructType type() {
    return (StructType) seen.dataType();
  }

  private UnsafeRow of(InternalRow row) {
    if (compiled == null) {
      compiled =
          UnsafeProjection.create(CollectionConverters.asScala(List.of(seen)).toSeq(), columns);
      compiled.initialize(0);
      holder = new GenericInternalRow(1);
    }
    holder.update(0, row);
    return compiled.apply(holder);
  }
}
