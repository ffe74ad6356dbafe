package millstream.row;

import java.util.HashMap;
import java.util.Map;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/** Rows in the form in which Spark has them. */
public final class Rows {
  private static final Map<StructType, UnsafeProjection> PROJECTIONS = new HashMap<>();

  private Rows() {}

  public static UnsafeRow of(StructType type, Object... values) {
    Object[] own = new Object[values.length];
    for (int i = 0; i < own.length; i++) {
      own[i] = values[i] instanceof String text ? UTF8String.fromString(text) : values[i];
    }
    return own(type, new GenericInternalRow(own));
  }

  /** A copy that nothing else points to. */
  public static UnsafeRow own(StructType type, InternalRow row) {
    return PROJECTIONS
        .computeIfAbsent(type, UnsafeProjection::create)
        .apply(row)
        .copy();
  }
}
