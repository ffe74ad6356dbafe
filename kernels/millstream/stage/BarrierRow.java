package millstream.stage;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.execution.streaming.state.RangeScanBoundaryUtils;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/** The row that a stage is handed at a barrier: it has the stage's columns, and says nothing. */
final class BarrierRow {
  private BarrierRow() {}

  static byte[] of(StructType schema) {
    Object[] values = new Object[schema.length()];
    for (int i = 0; i < values.length; i++) {
      StructField field = schema.fields()[i];
      values[i] = field.nullable() ? null : something(field);
    }
    return UnsafeProjection.create(schema).apply(new GenericInternalRow(values)).getBytes();
  }

  private static Object something(StructField field) {
    InternalRow one = RangeScanBoundaryUtils.defaultInternalRow(new StructType().add(field));
    return one.get(0, field.dataType());
  }
}
