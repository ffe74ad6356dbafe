package millstream.aggregate;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/** The sum of numbers that are never taken back: {@code sum BIGINT} or {@code sum DOUBLE}, NULL if no value counts. */
final class PlainSum extends Merging {
  private static final long serialVersionUID = 1L;

  private final boolean floating;
  private transient boolean any;
  private transient long whole;
  private transient double real;

  PlainSum(int input, boolean floating) {
    super(input);
    this.floating = floating;
  }

  @Override
  StructType state(StructType fields) {
    return fields.add("sum" + input, resultType(), true);
  }

  @Override
  public DataType resultType() {
    return floating ? DataTypes.DoubleType : DataTypes.LongType;
  }

  @Override
  Accumulator fresh() {
    return placed(new PlainSum(input, floating));
  }

  @Override
  void clear() {
    any = false;
    whole = 0;
    real = 0;
  }

  @Override
  void merge(InternalRow row, int at) {
    if (row.isNullAt(at)) {
      return;
    }
    any = true;
    if (floating) {
      real += row.getDouble(at);
    } else {
      whole = SumLong.exact(whole, row.getLong(at));
    }
  }

  @Override
  void save(Object[] state) {
    state[saved] = result();
  }

  @Override
  Object result() {
    if (!any) {
      return null;
    }
    return floating ? (Object) real : (Object) whole;
  }
}
