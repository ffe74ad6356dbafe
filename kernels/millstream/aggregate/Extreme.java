package millstream.aggregate;

import java.util.Comparator;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.util.TypeUtils;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;

/** The least or greatest value of rows that are never taken back: {@code value T}. */
final class Extreme extends Accumulator {
  private static final long serialVersionUID = 1L;

  private final DataType type;
  private final boolean greatest;
  private transient Comparator<Object> order;
  private transient Object best;

  Extreme(int input, DataType type, boolean greatest) {
    super(input);
    this.type = type;
    this.greatest = greatest;
  }

  /** Best first. */
  @SuppressWarnings("unchecked")
  static Comparator<Object> order(DataType type, boolean greatest) {
    Comparator<Object> natural = (Comparator<Object>) (Comparator<?>) TypeUtils.getInterpretedOrdering(type);
    return greatest ? natural.reversed() : natural;
  }

  @Override
  StructType state(StructType fields) {
    return fields.add("best" + input, type, true);
  }

  @Override
  public DataType resultType() {
    return type;
  }

  @Override
  Accumulator fresh() {
    return placed(new Extreme(input, type, greatest));
  }

  @Override
  void load(InternalRow state) {
    best = state == null || state.isNullAt(saved) ? null : state.get(saved, type);
  }

  @Override
  void add(InternalRow payload, long weight) {
    if (payload.isNullAt(input)) {
      return;
    }
    if (order == null) {
      order = order(type, greatest);
    }
    Object value = payload.get(input, type);
    if (best == null || order.compare(value, best) < 0) {
      best = InternalRow.copyValue(value);
    }
  }

  @Override
  void save(Object[] state) {
    state[saved] = best;
  }

  @Override
  Object result() {
    return best;
  }
}
