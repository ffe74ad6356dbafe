package millstream.row;

import java.util.Iterator;
import millstream.metrics.Meters;
import millstream.metrics.Tap;
import org.apache.spark.api.java.function.MapPartitionsFunction;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.InternalRow;

/** Lets the rows of a source pass, and a few of them be seen. */
public final class Tapped implements MapPartitionsFunction<InternalRow, InternalRow> {
  private static final long serialVersionUID = 1L;
  private static final String WEIGHT = "_w";

  private final Tap tap;
  private final int weight;

  private Tapped(Tap tap, int weight) {
    this.tap = tap;
    this.weight = weight;
  }

  /** The rows as they are, where nobody may look. */
  public static Dataset<Row> source(Dataset<Row> rows, String name) {
    Tap tap = Meters.of(rows.sparkSession()).sourceTap(name, rows.schema());
    if (tap == null) {
      return rows;
    }
    Tapped tapped =
        new Tapped(tap, (Integer) rows.schema().getFieldIndex(WEIGHT).get());
    return rows.as(new InternalRowEncoder(rows.schema()))
        .mapPartitions(tapped, new InternalRowEncoder(rows.schema()))
        .toDF();
  }

  @Override
  public Iterator<InternalRow> call(Iterator<InternalRow> rows) {
    tap.begin();
    return new Iterator<>() {
      @Override
      public boolean hasNext() {
        return rows.hasNext();
      }

      @Override
      public InternalRow next() {
        InternalRow row = rows.next();
        tap.see(row, row.getLong(weight));
        return row;
      }
    };
  }
}
