package millstream.aggregate;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/**
 * What variances are made of: {@code value DOUBLE, sum, sum error, squares, squares error, squares rest, special, n}.
 *
 * <p>A row brings its value; merged figures bring sums instead. The sum is kept in two doubles, and the squares, which
 * have twice as many digits, in three, so that a value that is taken back leaves no trace, and the small difference of
 * two large sums is right.
 */
final class Squares extends Merging {
  private static final long serialVersionUID = 1L;
  /** Less than this share of the squares counts as zero: rounding may leave that much. */
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
        .add("squares_rest" + input, "double", false)
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
    squares = new double[3];
    special = 0;
    count = 0;
  }

  @Override
  void merge(InternalRow row, int at) {
    long rows = row.getLong(at + 7);
    count += rows;
    special += row.getLong(at + 6);
    if (!row.isNullAt(at)) {
      add(row.getDouble(at), rows);
      return;
    }
    for (int part = 0; part < sum.length; part++) {
      plus(sum, row.getDouble(at + 1 + part));
    }
    for (int part = 0; part < squares.length; part++) {
      plus(squares, row.getDouble(at + 3 + part));
    }
  }

  private void add(double value, long rows) {
    if (Double.isNaN(value) || Double.isInfinite(value)) {
      special += rows;
      return;
    }
    plusProduct(sum, value, rows);
    double square = value * value;
    plusProduct(squares, square, rows);
    plusProduct(squares, Math.fma(value, value, -square), rows);
  }

  private static void plusProduct(double[] to, double value, double times) {
    double product = value * times;
    plus(to, product);
    plus(to, Math.fma(value, times, -product));
  }

  /** Adds to a number in several parts, the largest first. What the last part cannot hold is lost. */
  private static void plus(double[] to, double value) {
    double left = value;
    for (int part = 0; part < to.length; part++) {
      double before = to[part];
      to[part] = before + left;
      left = lost(before, left, to[part]);
    }
    for (int part = to.length - 1; part > 0; part--) {
      settle(to, part - 1);
    }
    for (int part = 1; part < to.length - 1; part++) {
      settle(to, part);
    }
  }

  /** Moves what fits from a part into the larger one before it. */
  private static void settle(double[] parts, int at) {
    double sum = parts[at] + parts[at + 1];
    parts[at + 1] = lost(parts[at], parts[at + 1], sum);
    parts[at] = sum;
  }

  /** By how much the rounded sum of two numbers is less than their sum. */
  private static double lost(double one, double other, double sum) {
    double part = sum - one;
    return (one - (sum - part)) + (other - part);
  }

  @Override
  void save(Object[] state) {
    state[saved] = null;
    state[saved + 1] = sum[0];
    state[saved + 2] = sum[1];
    state[saved + 3] = squares[0];
    state[saved + 4] = squares[1];
    state[saved + 5] = squares[2];
    state[saved + 6] = special;
    state[saved + 7] = count;
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
    plus(left, -share);
    plus(left, -(rest + error) / count);
    double distance = left[0] + left[1];
    return distance <= squares[0] * NOTHING ? 0 : distance;
  }
}
