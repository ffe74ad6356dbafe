package millstream.aggregate;

import java.util.function.Function;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;

/** Values that are brought together in the payload's form, each once: {@code [(value, w0, w1, …), …]}. */
final class Gathered extends Merging {
  private static final long serialVersionUID = 1L;

  private final transient DistinctValues values;
  private final transient Function<DistinctValues, Object> result;

  Gathered(int input, DistinctValues values, Function<DistinctValues, Object> result) {
    super(input);
    this.values = values;
    this.result = result;
  }

  @Override
  void clear() {
    values.weights().clear();
  }

  @Override
  void merge(InternalRow row, int at) {
    if (!row.isNullAt(at)) {
      values.add(row.getArray(at));
    }
  }

  @Override
  void save(Object[] state) {
    state[saved] = values.entries();
  }

  @Override
  Object result() {
    return result.apply(values);
  }

  @Override
  StructType state(StructType fields) {
    throw madeFresh();
  }

  @Override
  public DataType resultType() {
    throw madeFresh();
  }

  @Override
  Accumulator fresh() {
    throw madeFresh();
  }

  private static UnsupportedOperationException madeFresh() {
    return new UnsupportedOperationException("gathered values are another accumulator's");
  }
}
