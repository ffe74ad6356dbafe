package millstream.stage;

import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import millstream.operator.Operator;
import millstream.row.InternalRowEncoder;
import millstream.row.Layout;
import org.apache.spark.api.java.function.MapPartitionsFunction;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.BoundReference;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.plans.physical.HashPartitioning;
import org.apache.spark.sql.types.StructField;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Gives every task of a stage a last row for each operator that gathers rows, so that it can tell that the input ends.
 *
 * <p>Spark has no call for that. Rows reach a task sorted by their key, whose first column is the operator's tag; a tag
 * above all operators' comes last. The last key column is a number that is chosen so that the row's hash leads to the
 * task.
 */
final class EndOfInput implements MapPartitionsFunction<InternalRow, InternalRow> {
  private static final long serialVersionUID = 1L;

  private final Object[][] rows;

  private EndOfInput(Object[][] rows) {
    this.rows = rows;
  }

  static Dataset<Row> apply(Dataset<Row> routed, Layout layout, Operator[] operators) {
    int tasks = Integer.parseInt(routed.sparkSession().conf().get("spark.sql.shuffle.partitions"));
    List<Object[]> rows = new ArrayList<>();
    for (int i = 0; i < operators.length; i++) {
      if (operators[i].gathers()) {
        for (int task = 0; task < tasks; task++) {
          rows.add(row(layout, operators.length + i, task, tasks));
        }
      }
    }
    if (rows.isEmpty()) {
      return routed;
    }
    InternalRowEncoder encoder = new InternalRowEncoder(layout.schema);
    return routed
        .as(encoder)
        .mapPartitions(new EndOfInput(rows.toArray(new Object[0][])), encoder)
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

  @Override
  public Iterator<InternalRow> call(Iterator<InternalRow> input) {
    return new Iterator<>() {
      private int at;

      @Override
      public boolean hasNext() {
        return input.hasNext() || at < rows.length;
      }

      @Override
      public InternalRow next() {
        return input.hasNext() ? input.next() : new GenericInternalRow(rows[at++].clone());
      }
    };
  }
}
