package millstream.stage;

import java.util.List;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.SortOrder;
import org.apache.spark.sql.catalyst.plans.physical.Partitioning;
import org.apache.spark.sql.execution.SparkPlan;
import scala.collection.Iterator;
import scala.collection.immutable.IndexedSeq;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;
import scala.reflect.ClassTag$;
import scala.runtime.AbstractFunction1;

/** Puts the last rows of a task behind its others. See {@link EndOfInput}. */
public final class EndOfInputExec extends SparkPlan {
  private static final long serialVersionUID = 1L;

  private final EndOfInput end;
  private final Seq<Attribute> output;
  private final SparkPlan child;

  /** {@code output}: the columns of {@code child}, all of which may be NULL in a last row. */
  public EndOfInputExec(EndOfInput end, Seq<Attribute> output, SparkPlan child) {
    this.end = end;
    this.output = output;
    this.child = child;
  }

  @Override
  public RDD<InternalRow> doExecute() {
    return child.execute().mapPartitions(new Behind(end), true, ClassTag$.MODULE$.apply(InternalRow.class));
  }

  private static final class Behind extends AbstractFunction1<Iterator<InternalRow>, Iterator<InternalRow>>
      implements java.io.Serializable {
    private static final long serialVersionUID = 1L;

    private final EndOfInput end;

    Behind(EndOfInput end) {
      this.end = end;
    }

    @Override
    public Iterator<InternalRow> apply(Iterator<InternalRow> rows) {
      return end.behind(rows);
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

  @Override
  public Seq<SortOrder> outputOrdering() {
    return child.outputOrdering();
  }

  @Override
  public Seq<SparkPlan> children() {
    return CollectionConverters.asScala(List.of(child)).toSeq();
  }

  @Override
  public SparkPlan withNewChildrenInternal(IndexedSeq<SparkPlan> children) {
    return new EndOfInputExec(end, output, children.head());
  }

  @Override
  public int productArity() {
    return 3;
  }

  @Override
  public Object productElement(int number) {
    return List.of(end, output, child).get(number);
  }

  @Override
  public boolean canEqual(Object other) {
    return other instanceof EndOfInputExec;
  }
}
