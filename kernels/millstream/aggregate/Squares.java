package millstream.aggregate;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/**
 * What variances are made of: {@code value DOUBLE, sum, sum error, squares, squares error, special, n}.
 *
 * <p>A row brings its value; merged figures bring sums instead. Sums are kept in two doubles each, and squares are
 * taken exactly, so that a value that is taken back leaves no trace, and that the small difference of two large sums is
 * right.
 */
final class Squares extends Merging {
  private static final long serialVersionUID = 1L;
  /** Less than this part of the squares is what rounding left of zero. */
  private static final double NOTHING = 0x1p-96;

  private transient double[] sum;
  private transient double[] squares;
  private transient long special;
  private transient long count;

  Squares(int input) {
    super(input);
  }

  @Override
  StructType state(StructType fields) {
    return fields
        .add("value" + input, "double", true)
        .add("sum" + input, "double", false)
        .add("sum_error" + input, "double", false)
        .add("squares" + input, "double", false)
        .add("squares_error" + input, "double", false)
        .add("special" + input, "bigint", false)
        .add("n" + input, "bigint", false);
  }

  /** How many values, and the sum of their squared distances from the mean. */
  @Override
  public DataType resultType() {
    return new StructType().add("n", DataTypes.LongType, false).add("m2", DataTypes.DoubleType, false);
  }

  @Override
  Accumulator fresh() {
    return placed(new Squares(input));
  }

  @Override
  void clear() {
    sum = new double[2];
    squares = new double[2];
    special = 0;
    count = 0;
  }

  @Override
  void merge(InternalRow row, int at) {
    long rows = row.getLong(at + 6);
    count += rows;
    special += row.getLong(at + 5);
    if (!row.isNullAt(at)) {
      add(row.getDouble(at), rows);
      return;
    }
    plus(sum, row.getDouble(at + 1), row.getDouble(at + 2));
    plus(squares, row.getDouble(at + 3), row.getDouble(at + 4));
  }

  private void add(double value, long rows) {
    if (Double.isNaN(value) || Double.isInfinite(value)) {
      special += rows;
      return;
    }
    double weighted = value * rows;
    plus(sum, weighted, Math.fma(value, rows, -weighted));
    double square = value * value;
    double error = Math.fma(value, value, -square);
    double total = square * rows;
    plus(squares, total, Math.fma(square, rows, -total) + error * rows);
  }

  /** Adds a number, given in two parts, to another. */
  private static void plus(double[] to, double value, double error) {
    double total = to[0] + value;
    double part = total - to[0];
    double lost = (to[0] - (total - part)) + (value - part) + to[1] + error;
    to[0] = total + lost;
    to[1] = lost - (to[0] - total);
  }

  @Override
  void save(Object[] state) {
    state[saved] = null;
    state[saved + 1] = sum[0];
    state[saved + 2] = sum[1];
    state[saved + 3] = squares[0];
    state[saved + 4] = squares[1];
    state[saved + 5] = special;
    state[saved + 6] = count;
  }

  @Override
  Object result() {
    double distance = special > 0 ? Double.NaN : count == 0 ? 0 : distance();
    return new GenericInternalRow(new Object[] {count, distance});
  }

  /** The squares less the square of the sum over the count. */
  private double distance() {
    double square = sum[0] * sum[0];
    double error = Math.fma(sum[0], sum[0], -square) + 2 * sum[0] * sum[1];
    double share = square / count;
    double rest = Math.fma(-share, count, square);
    double[] left = squares.clone();
    plus(left, -share, -(rest + error) / count);
    double distance = left[0] + left[1];
    return distance <= squares[0] * NOTHING ? 0 : distance;
  }
}
