package nexmark.flink;

import org.apache.flink.table.data.ArrayData;
import org.apache.flink.table.data.DecimalData;
import org.apache.flink.table.data.MapData;
import org.apache.flink.table.data.RawValueData;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.data.StringData;
import org.apache.flink.table.data.TimestampData;
import org.apache.flink.types.RowKind;
import org.apache.flink.types.variant.Variant;

/** A row without the types that no event has. */
abstract class ReadOnlyRow implements RowData {
  private RowKind rowKind = RowKind.INSERT;

  private static RuntimeException no() {
    return new UnsupportedOperationException();
  }

  @Override
  public RowKind getRowKind() {
    return rowKind;
  }

  @Override
  public void setRowKind(RowKind kind) {
    rowKind = kind;
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
  public long getLong(int i) {
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
  public StringData getString(int i) {
    throw no();
  }

  @Override
  public DecimalData getDecimal(int i, int precision, int scale) {
    throw no();
  }

  @Override
  public TimestampData getTimestamp(int i, int precision) {
    throw no();
  }

  @Override
  public <T> RawValueData<T> getRawValue(int i) {
    throw no();
  }

  @Override
  public byte[] getBinary(int i) {
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

  @Override
  public RowData getRow(int i, int fields) {
    throw no();
  }

  @Override
  public Variant getVariant(int i) {
    throw no();
  }
}
