package millstream.aggregate;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/**
 * The sum of floating-point numbers: {@code hi DOUBLE, lo DOUBLE, nan, plus, minus, n BIGINT}.
 *
 * <p>Two doubles carry the sum and its rounding error, and the numbers that swallow all others are only counted: so a
 * value that is taken back leaves no trace.
 */
final class SumDouble extends Merging {
  private static final long serialVersionUID = 1L;
  private transient double hi;
  private transient double lo;
  private transient long nan;
  private transient long plus;
  private transient long minus;
  private transient long count;

  SumDouble(int input) {
    super(input);
  }

  @Override
  StructType state(StructType fields) {
    return fields
        .add("hi" + input, "double", false)
        .add("lo" + input, "double", false)
        .add("nan" + input, "bigint", false)
        .add("plus" + input, "bigint", false)
        .add("minus" + input, "bigint", false)
        .add("n" + input, "bigint", false);
  }

  @Override
  public DataType resultType() {
    return DataTypes.DoubleType;
  }

  @Override
  Accumulator fresh() {
    return placed(new SumDouble(input));
  }

  @Override
  void clear() {
    hi = 0;
    lo = 0;
    nan = 0;
    plus = 0;
    minus = 0;
    count = 0;
  }

  @Override
  void merge(InternalRow row, int at) {
    double value = row.getDouble(at);
    double sum = hi + value;
    double part = sum - hi;
    lo += (hi - (sum - part)) + (value - part) + row.getDouble(at + 1);
    hi = sum;
    nan += row.getLong(at + 2);
    plus += row.getLong(at + 3);
    minus += row.getLong(at + 4);
    count += row.getLong(at + 5);
  }

  @Override
  void save(Object[] state) {
    state[saved] = hi;
    state[saved + 1] = lo;
    state[saved + 2] = nan;
    state[saved + 3] = plus;
    state[saved + 4] = minus;
    state[saved + 5] = count;
  }

  @Override
  Object result() {
    if (count == 0) {
      return null;
    }
    if (nan > 0 || (plus > 0 && minus > 0)) {
      return Double.NaN;
    }
    if (plus > 0 || minus > 0) {
      return plus > 0 ? Double.POSITIVE_INFINITY : Double.NEGATIVE_INFINITY;
    }
    return hi + lo;
  }
}
