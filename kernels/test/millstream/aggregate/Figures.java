package millstream.aggregate;

import millstream.row.Rows;
import millstream.state.MemoryHandle;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.types.StructType;

/** One accumulator through epochs: its state is saved and loaded as bytes. */
public final class Figures {
  private final Accumulator figure;
  private final StructType type;
  private InternalRow saved;

  Figures(Accumulator figure, MemoryHandle handle) {
    this.figure = figure;
    this.type = figure.state(new StructType());
    figure.open(handle, "totals");
    figure.load(null);
  }

  void add(InternalRow payload, long weight) {
    figure.add(payload, weight);
  }

  Object result() {
    return figure.result();
  }

  void endOfEpoch() {
    Object[] state = new Object[type.length()];
    figure.save(state);
    saved = Rows.own(type, new GenericInternalRow(state));
    figure.load(saved);
  }

  /** How many rows, and the sum of a number: figures that are added in the payload's form. */
  public static KeptFigures countAndSum(InternalRow kept) {
    return new KeptFigures(new Accumulator[] {new Count(0), new SumLong(1)}, 3, kept);
  }
}
