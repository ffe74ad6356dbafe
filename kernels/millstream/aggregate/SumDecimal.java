package millstream.aggregate;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.StructType;

/** The sum of decimals: {@code sum DECIMAL(38, s), n BIGINT}. */
final class SumDecimal extends Accumulator {
  private static final long serialVersionUID = 1L;
  private final DecimalType type;
  private transient Decimal sum;
  private transient long count;

  SumDecimal(int input, DataType type) {
    super(input);
    this.type = (DecimalType) type;
  }

  @Override
  StructType state(StructType fields) {
    return fields.add("sum" + input, type, false).add("n" + input, "bigint", false);
  }

  @Override
  public DataType resultType() {
    return type;
  }

  @Override
  Accumulator fresh() {
    return placed(new SumDecimal(input, type));
  }

  @Override
  void load(InternalRow state) {
    sum = state == null ? zero() : state.getDecimal(saved, type.precision(), type.scale());
    count = state == null ? 0 : state.getLong(saved + 1);
  }

  private Decimal zero() {
    return Decimal.apply(0L, type.precision(), type.scale());
  }

  @Override
  void add(InternalRow payload, long weight) {
    sum = sum.$plus(payload.getDecimal(input, type.precision(), type.scale()));
    if (!sum.changePrecision(type.precision(), type.scale())) {
      throw new ArithmeticException("MS-AGG-010: a sum does not fit into a " + type.sql() + ".");
    }
    count += payload.getLong(input + 1);
  }

  @Override
  void save(Object[] state) {
    state[saved] = sum;
    state[saved + 1] = count;
  }

  @Override
  Object result() {
    return count == 0 ? null : sum;
  }
}
