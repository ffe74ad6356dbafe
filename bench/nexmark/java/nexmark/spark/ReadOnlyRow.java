package nexmark.spark;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.MapData;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.unsafe.types.BinaryView;
import org.apache.spark.unsafe.types.CalendarInterval;
import org.apache.spark.unsafe.types.TimestampNanosVal;
import org.apache.spark.unsafe.types.UTF8String;
import org.apache.spark.unsafe.types.VariantVal;

/** A row without the types that no event has. */
abstract class ReadOnlyRow extends InternalRow {
  private static RuntimeException no() {
    return new UnsupportedOperationException();
  }

  @Override
  public void setNullAt(int i) {
    throw no();
  }

  @Override
  public void update(int i, Object value) {
    throw no();
  }

  @Override
  public boolean getBoolean(int i) {
    throw no();
  }

  @Override
  public byte getByte(int i) {
    throw no();
  }

  @Override
  public short getShort(int i) {
    throw no();
  }

  @Override
  public int getInt(int i) {
    throw no();
  }

  @Override
  public float getFloat(int i) {
    throw no();
  }

  @Override
  public double getDouble(int i) {
    throw no();
  }

  @Override
  public Decimal getDecimal(int i, int precision, int scale) {
    throw no();
  }

  @Override
  public UTF8String getUTF8String(int i) {
    throw no();
  }

  @Override
  public byte[] getBinary(int i) {
    throw no();
  }

  @Override
  public BinaryView getBinaryView(int i) {
    throw no();
  }

  @Override
  public CalendarInterval getInterval(int i) {
    throw no();
  }

  @Override
  public VariantVal getVariant(int i) {
    throw no();
  }

  @Override
  public TimestampNanosVal getTimestampNTZNanos(int i) {
    throw no();
  }

  @Override
  public TimestampNanosVal getTimestampLTZNanos(int i) {
    throw no();
  }

  @Override
  public InternalRow getStruct(int i, int fields) {
    throw no();
  }

  @Override
  public ArrayData getArray(int i) {
    throw no();
  }

  @Override
  public MapData getMap(int i) {
    throw no();
  }
}
