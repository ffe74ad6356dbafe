package millstream.aggregate;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/**
 * The sum of BIGINTs that need not fit into one: {@code high BIGINT, low BIGINT}, the sum is {@code high * 2^32 + low}.
 *
 * <p>It is exact, so that a value that is taken back leaves no trace.
 */
final class SumWide extends Accumulator {
  private static final long serialVersionUID = 1L;
  private static final int HALF = 32;
  private transient long high;
  private transient long low;

  SumWide(int input) {
    super(input);
  }

  @Override
  StructType state(StructType fields) {
    return fields.add("high" + input, "bigint", false).add("low" + input, "bigint", false);
  }

  @Override
  public DataType resultType() {
    return DataTypes.DoubleType;
  }

  @Override
  Accumulator fresh() {
    return placed(new SumWide(input));
  }

  @Override
  void load(InternalRow state) {
    high = state == null ? 0 : state.getLong(saved);
    low = state == null ? 0 : state.getLong(saved + 1);
  }

  @Override
  void add(InternalRow payload, long weight) {
    high = SumLong.exact(high, payload.getLong(input));
    low = SumLong.exact(low, payload.getLong(input + 1));
  }

  /** What has outgrown the lower half is carried over. */
  @Override
  void save(Object[] state) {
    state[saved] = SumLong.exact(high, low >> HALF);
    state[saved + 1] = low & ((1L << HALF) - 1);
  }

  @Override
  Object result() {
    return (double) high * (1L << HALF) + low;
  }
}
