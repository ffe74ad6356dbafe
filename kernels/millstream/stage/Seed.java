package millstream.stage;

import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import millstream.operator.Operator;
import millstream.operator.Seeded;
import millstream.row.InternalRowEncoder;
import millstream.row.Layout;
import org.apache.spark.api.java.function.MapPartitionsFunction;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/**
 * Calls the groups that have a result even of no rows: puts a row with no payload in front of what each task sends.
 *
 * <p>The key of such a group is the constant 0.
 */
final class Seed implements MapPartitionsFunction<InternalRow, InternalRow> {
  private static final long serialVersionUID = 1L;

  private final List<Object[]> seeds;

  private Seed(List<Object[]> seeds) {
    this.seeds = seeds;
  }

  static Dataset<Row> apply(Dataset<Row> routed, Layout layout, Operator[] operators) {
    List<Object[]> seeds = new ArrayList<>();
    for (int i = 0; i < operators.length; i++) {
      if (operators[i] instanceof Seeded one && one.seeded()) {
        seeds.add(seed(layout, i, one));
      }
    }
    if (seeds.isEmpty()) {
      return routed;
    }
    InternalRowEncoder encoder = new InternalRowEncoder(nullable(layout));
    return routed
        .as(new InternalRowEncoder(layout.schema))
        .mapPartitions(new Seed(seeds), encoder)
        .toDF();
  }

  private static Object[] seed(Layout layout, int index, Seeded operator) {
    Object[] values = new Object[layout.schema.length()];
    if (layout.tagged) {
      values[0] = index;
    }
    values[operator.keySlot()] = 0;
    if (layout.weight > layout.keys) {
      values[layout.keys] = operator.port();
    }
    values[layout.weight] = 0L;
    return values;
  }

  private static StructType nullable(Layout layout) {
    StructField[] fields = layout.schema.fields().clone();
    for (int i = layout.payload; i < fields.length; i++) {
      fields[i] = new StructField(fields[i].name(), fields[i].dataType(), true, fields[i].metadata());
    }
    return new StructType(fields);
  }

  @Override
  public Iterator<InternalRow> call(Iterator<InternalRow> rows) {
    Iterator<Object[]> first = seeds.iterator();
    return new Iterator<>() {
      @Override
      public boolean hasNext() {
        return first.hasNext() || rows.hasNext();
      }

      @Override
      public InternalRow next() {
        return first.hasNext() ? new GenericInternalRow(first.next()) : rows.next();
      }
    };
  }
}
