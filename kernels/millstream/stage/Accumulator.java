package millstream.stage;

import java.io.Serializable;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.streaming.StatefulProcessorHandle;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.StructType;

/**
 * One running figure of an aggregate.
 *
 * <p>A router hands over each row as a small figure of its own (its weight folded in), so that adding a row,
 * merging two tasks' figures and adding an epoch to the state are the same thing: {@link #add}.
 */
abstract class Accumulator implements Serializable {
  private static final long serialVersionUID = 1L;

  /** Its first field in the payload, and in the state. */
  final int input;
  int saved;

  Accumulator(int input) {
    this.input = input;
  }

  final <A extends Accumulator> A placed(A other) {
    other.saved = saved;
    other.load(null);
    return other;
  }

  /** Appends its fields to the state's type. */
  abstract StructType state(StructType fields);

  abstract DataType resultType();

  void open(StatefulProcessorHandle handle, Operator owner) {}

  /** Begins with what was saved, or with nothing. */
  abstract void load(InternalRow state);

  abstract void add(InternalRow payload, long weight);

  abstract void save(Object[] state);

  abstract Object result();

  /** Another one of the same kind, empty. */
  abstract Accumulator fresh();

  /** Whether {@link #save} has the payload's form, so that partial figures can be sent on. */
  boolean combines() {
    return true;
  }

  /** How many rows count: {@code n BIGINT}. */
  static final class Count extends Accumulator {
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
    DataType resultType() {
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

  /** The sum of whole numbers: {@code sum BIGINT, n BIGINT}; NULL if no value counts. */
  static final class SumLong extends Accumulator {
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
    DataType resultType() {
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
      long before = sum;
      long value = payload.getLong(input);
      sum = before + value;
      if (((before ^ sum) & (value ^ sum)) < 0) {
        throw new ArithmeticException("MS-AGG-010: a sum does not fit into a BIGINT; cast the column to a DECIMAL.");
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
      return count == 0 ? null : (Object) sum;
    }
  }

  /**
   * The sum of floating-point numbers: {@code hi DOUBLE, lo DOUBLE, nan, plus, minus, n BIGINT}.
   *
   * <p>Two doubles carry the sum and its rounding error, and the numbers that swallow all others are only counted:
   * so a value that is taken back leaves no trace.
   */
  static final class SumDouble extends Accumulator {
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
    DataType resultType() {
      return DataTypes.DoubleType;
    }

    @Override
    Accumulator fresh() {
      return placed(new SumDouble(input));
    }

    @Override
    void load(InternalRow state) {
      hi = 0;
      lo = 0;
      nan = 0;
      plus = 0;
      minus = 0;
      count = 0;
      if (state != null) {
        merge(state, saved);
      }
    }

    @Override
    void add(InternalRow payload, long weight) {
      merge(payload, input);
    }

    private void merge(InternalRow row, int at) {
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

  /** The sum of decimals: {@code sum DECIMAL(38, s), n BIGINT}. */
  static final class SumDecimal extends Accumulator {
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
    DataType resultType() {
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
}
