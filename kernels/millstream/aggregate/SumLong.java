package millstream.aggregate;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/** The sum of whole numbers: {@code sum BIGINT, n BIGINT}; NULL if no value counts. */
final class SumLong extends Accumulator {
  private static final long serialVersionUID = 1L;
  private transient long sum;
  private transient long count;

  SumLong(int input) {
    super(input);
  }

  @Override
  StructType state(StructType fields) {
    return fields.add("sum" + input, "bigint", false).add("n" + input, "bigint", false);
  }

  @Override
  public DataType resultType() {
    return DataTypes.LongType;
  }

  @Override
  Accumulator fresh() {
    return placed(new SumLong(input));
  }

  @Override
  void load(InternalRow state) {
    sum = state == null ? 0 : state.getLong(saved);
    count = state == null ? 0 : state.getLong(saved + 1);
  }

  @Override
  void add(InternalRow payload, long weight) {
    sum = exact(sum, payload.getLong(input));
    count += payload.getLong(input + 1);
  }

  static long exact(long one, long other) {
    long sum = one + other;
    if (((one ^ sum) & (other ^ sum)) < 0) {
      throw new ArithmeticException("MS-AGG-010: a sum does not fit into a BIGINT; cast the column to a DECIMAL.");
    }
    return sum;
  }

  @Override
  void save(Object[] state) {
    state[saved] = sum;
    state[saved + 1] = count;
  }

  @Override
  Object result() {
    return count == 0 ? null : (Object) sum;
  }
}
