package millstream.aggregate;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/** How many rows count: {@code n BIGINT}. */
final class Count extends Accumulator {
  private static final long serialVersionUID = 1L;
  private transient long count;

  Count(int input) {
    super(input);
  }

  @Override
  StructType state(StructType fields) {
    return fields.add("count" + input, "bigint", false);
  }

  @Override
  public DataType resultType() {
    return DataTypes.LongType;
  }

  @Override
  Accumulator fresh() {
    return placed(new Count(input));
  }

  @Override
  void load(InternalRow state) {
    count = state == null ? 0 : state.getLong(saved);
  }

  @Override
  void add(InternalRow payload, long weight) {
    count += payload.getLong(input);
  }

  @Override
  void save(Object[] state) {
    state[saved] = count;
  }

  @Override
  Object result() {
    return count;
  }

  long count() {
    return count;
  }
}
