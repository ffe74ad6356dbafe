package millstream.stage;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.List;
import millstream.operator.Operator;
import millstream.row.InternalRowEncoder;
import millstream.row.Layout;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.BoundReference;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.plans.physical.HashPartitioning;
import org.apache.spark.sql.types.StructField;
import scala.collection.Iterator;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.AbstractFunction1;

/**
 * Gives every task of a stage a last row for each operator that gathers rows, so that it can tell that the input ends.
 *
 * <p>Spark has no call for that. Every task before the shuffle sends such rows to all tasks behind it. Their tag is
 * above all operators', so that they come last where rows are sorted by it; the last key column is a number that is
 * chosen so that the row's hash leads to the task. Where rows come in epochs, {@code GroupedByHash} takes this step
 * out, and puts the rows behind those of each task ({@link GroupedExec}): no row then has to become an object, and
 * bytes again.
 */
public final class EndOfInput extends AbstractFunction1<Iterator<InternalRow>, Iterator<InternalRow>>
    implements Serializable {
  private static final long serialVersionUID = 1L;

  /** By operator, and then by task. */
  private final Object[][][] rows;

  private EndOfInput(Object[][][] rows) {
    this.rows = rows;
  }

  static Dataset<Row> apply(Dataset<Row> routed, Layout layout, Operator[] operators) {
    int tasks = Integer.parseInt(routed.sparkSession().conf().get("spark.sql.shuffle.partitions"));
    List<Object[][]> rows = new ArrayList<>();
    for (int i = 0; i < operators.length; i++) {
      if (operators[i].gathers()) {
        Object[][] own = new Object[tasks][];
        for (int task = 0; task < tasks; task++) {
          own[task] = row(layout, operators.length + i, task, tasks);
        }
        rows.add(own);
      }
    }
    if (rows.isEmpty()) {
      return routed;
    }
    InternalRowEncoder encoder = new InternalRowEncoder(layout.schema);
    return routed
        .as(encoder)
        .mapPartitions(new EndOfInput(rows.toArray(new Object[0][][])), encoder)
        .toDF();
  }

  private static Object[] row(Layout layout, int tag, int task, int tasks) {
    Expression place = place(layout, tasks);
    Object[] values = new Object[layout.schema.length()];
    values[0] = tag;
    if (layout.weight > layout.keys) {
      values[layout.keys] = 0;
    }
    values[layout.weight] = 0L;
    for (int number = 0; ; number++) {
      values[layout.keys - 1] = number;
      if ((Integer) place.eval(new GenericInternalRow(values)) == task) {
        return values;
      }
    }
  }

  /** Which task a row goes to, as Spark finds it. */
  private static Expression place(Layout layout, int tasks) {
    List<Expression> keys = new ArrayList<>();
    for (int i = 0; i < layout.keys; i++) {
      StructField field = layout.schema.fields()[i];
      keys.add(new BoundReference(i, field.dataType(), true));
    }
    return new HashPartitioning(CollectionConverters.asScala(keys).toSeq(), tasks).partitionIdExpression();
  }

  /** Rows before the shuffle, and behind them the last rows of all tasks. */
  @Override
  public Iterator<InternalRow> apply(Iterator<InternalRow> input) {
    List<InternalRow> last = new ArrayList<>();
    for (Object[][] own : rows) {
      for (Object[] values : own) {
        last.add(new GenericInternalRow(values.clone()));
      }
    }
    return input.concat(() -> CollectionConverters.asScala(last.iterator()));
  }

  /** The rows of a task behind the shuffle, and behind them its last rows: it needs one for each operator. */
  Iterator<InternalRow> behind(Iterator<InternalRow> input) {
    List<InternalRow> last = new ArrayList<>();
    for (Object[][] own : rows) {
      last.add(new GenericInternalRow(own[0].clone()));
    }
    return input.concat(() -> CollectionConverters.asScala(last.iterator()));
  }
}
