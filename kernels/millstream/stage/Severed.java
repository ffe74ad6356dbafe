package millstream.stage;

import java.util.List;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.SortOrder;
import org.apache.spark.sql.catalyst.plans.physical.Partitioning;
import org.apache.spark.sql.execution.SparkPlan;
import scala.collection.immutable.IndexedSeq;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * A plan whose rows go through a shuffle, and which is not sent along to the tasks behind it.
 *
 * <p>Spark's stateful operator sends itself to its tasks, and with it all that is below it in the plan: the driver
 * writes that three times in every epoch, and each task reads it, to look at nothing but the names of columns.
 */
public final class Severed extends SparkPlan {
  private static final long serialVersionUID = 1L;

  private final Seq<Attribute> output;
  /** NULL in tasks. */
  private final transient SparkPlan child;

  public Severed(SparkPlan child) {
    this.output = child.output();
    this.child = child;
  }

  @Override
  public RDD<InternalRow> doExecute() {
    return child.execute();
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
    return new Severed(children.head());
  }

  @Override
  public int productArity() {
    return 1;
  }

  @Override
  public Object productElement(int number) {
    return child;
  }

  @Override
  public boolean canEqual(Object other) {
    return other instanceof Severed;
  }
}
