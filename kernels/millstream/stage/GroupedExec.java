package millstream.stage;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Ascending$;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.BindReferences$;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.NullsFirst$;
import org.apache.spark.sql.catalyst.expressions.SortOrder;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.XxHash64;
import org.apache.spark.sql.catalyst.expressions.package$;
import org.apache.spark.sql.catalyst.plans.physical.Partitioning;
import org.apache.spark.sql.execution.SortExec;
import org.apache.spark.sql.execution.SparkPlan;
import scala.collection.Iterator;
import scala.collection.immutable.IndexedSeq;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;
import scala.reflect.ClassTag$;
import scala.runtime.AbstractFunction1;

/** Rows in the order of a hash of their key, with each key's side by side, and a task's last rows behind them. */
public final class GroupedExec extends SparkPlan {
  private static final long serialVersionUID = 1L;
  /** As Spark's own hashes have it. */
  private static final long SEED = 42;

  private final EndOfInput end;
  private final Seq<Attribute> keys;
  private final Seq<Attribute> output;
  private final SparkPlan child;

  /** {@code output}: the columns of {@code child}, all of which may be NULL in a last row. */
  public GroupedExec(EndOfInput end, Seq<Attribute> keys, Seq<Attribute> output, SparkPlan child) {
    this.end = end;
    this.keys = keys;
    this.output = output;
    this.child = child;
  }

  /** Over rows that are where they belong, in any order. */
  public static SparkPlan of(EndOfInput end, Seq<Attribute> keys, Seq<Attribute> output, SparkPlan rows) {
    // By one number, Spark sorts by its digits, and compares no rows.
    List<SortOrder> order = List.of(ascending(hash(keys)));
    return new GroupedExec(end, keys, output, new SortExec(seq(order), false, rows, 0));
  }

  private static Expression hash(Seq<Attribute> keys) {
    return new XxHash64(seq(new ArrayList<Expression>(CollectionConverters.asJava(keys))), SEED);
  }

  private static SortOrder ascending(Expression by) {
    return new SortOrder(by, Ascending$.MODULE$, NullsFirst$.MODULE$, seq(List.of()));
  }

  private static <T> Seq<T> seq(List<T> items) {
    return CollectionConverters.asScala(items).toSeq();
  }

  @Override
  public RDD<InternalRow> doExecute() {
    return child.execute().mapPartitions(new InTask(this), true, ClassTag$.MODULE$.apply(InternalRow.class));
  }

  /** What is sent to tasks. */
  private static final class InTask extends AbstractFunction1<Iterator<InternalRow>, Iterator<InternalRow>>
      implements Serializable {
    private static final long serialVersionUID = 1L;

    private final EndOfInput end;
    private final Seq<Attribute> keys;
    private final Seq<Attribute> columns;

    InTask(GroupedExec plan) {
      end = plan.end;
      keys = plan.keys;
      columns = plan.child.output();
    }

    @Override
    public Iterator<InternalRow> apply(Iterator<InternalRow> rows) {
      List<Expression> by = new ArrayList<>(CollectionConverters.asJava(keys));
      UnsafeProjection keyOf = UnsafeProjection.create(seq(by), columns);
      Expression hash =
          BindReferences$.MODULE$.bindReference(hash(keys), package$.MODULE$.AttributeSeq(columns), false);
      return end.behind(new Regrouped(rows, keyOf::apply, row -> (Long) hash.eval(row)));
    }
  }

  @Override
  public Seq<Attribute> output() {
    return output;
  }

  @Override
  public Partitioning outputPartitioning() {
    return child.outputPartitioning();
  }

  /** As the stage asks for it. All it needs is that equal keys stand side by side. */
  @Override
  public Seq<SortOrder> outputOrdering() {
    List<SortOrder> order = new ArrayList<>();
    CollectionConverters.asJava(keys).forEach(key -> order.add(ascending(key)));
    return seq(order);
  }

  @Override
  public Seq<SparkPlan> children() {
    return seq(List.of(child));
  }

  @Override
  public SparkPlan withNewChildrenInternal(IndexedSeq<SparkPlan> children) {
    return new GroupedExec(end, keys, output, children.head());
  }

  @Override
  public int productArity() {
    return 4;
  }

  @Override
  public Object productElement(int number) {
    return List.of(end, keys, output, child).get(number);
  }

  @Override
  public boolean canEqual(Object other) {
    return other instanceof GroupedExec;
  }
}
