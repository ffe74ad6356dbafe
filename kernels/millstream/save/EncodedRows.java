package millstream.save;

import java.util.Iterator;
import millstream.row.InternalRowEncoder;
import org.apache.spark.api.java.function.MapPartitionsFunction;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/** Rows with types as the bytes that a state store keeps. */
final class EncodedRows {
  static final String INDEX = "index";

  private EncodedRows() {}

  /** Of rows with the stage's key, key, value and index; {@code target}: the columns that Spark's writer takes. */
  static Dataset<Row> of(Dataset<Row> rows, String family, StructType target) {
    StructField[] fields = rows.schema().fields();
    Encoding encoding = new Encoding(
        (StructType) fields[0].dataType(),
        (StructType) fields[1].dataType(),
        (StructType) fields[2].dataType(),
        family);
    return rows.as(new InternalRowEncoder(rows.schema()))
        .mapPartitions(encoding, new InternalRowEncoder(target.add(INDEX, DataTypes.LongType, false)))
        .toDF();
  }

  private record Encoding(StructType stageKey, StructType key, StructType value, String family)
      implements MapPartitionsFunction<InternalRow, InternalRow> {
    @Override
    public Iterator<InternalRow> call(Iterator<InternalRow> rows) {
      UnsafeProjection ofKey = UnsafeProjection.create(key);
      UnsafeProjection ofValue = UnsafeProjection.create(value);
      UTF8String name = UTF8String.fromString(family);
      return new Iterator<>() {
        @Override
        public boolean hasNext() {
          return rows.hasNext();
        }

        @Override
        public InternalRow next() {
          InternalRow row = rows.next();
          return new GenericInternalRow(new Object[] {
            row.getStruct(0, stageKey.length()),
            ofKey.apply(row.getStruct(1, key.length())).getBytes(),
            ofValue.apply(row.getStruct(2, value.length())).getBytes(),
            name,
            row.getLong(3)
          });
        }
      };
    }
  }
}
