package nexmark.spark;

import nexmark.Block;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.types.TimestampType;
import org.apache.spark.unsafe.types.UTF8String;

/** An event where it is in its block: nothing is read before it is asked for. */
final class EventRow extends ReadOnlyRow {
  private static final int FIRST_KIND = 2;

  private final Part[] parts = new Part[3];
  private int kind;

  EventRow() {
    for (int kind = 0; kind < parts.length; kind++) {
      parts[kind] = new Part(kind, (StructType) EventsProvider.SCHEMA.fields()[FIRST_KIND + kind].dataType());
    }
  }

  void read(Block block) {
    for (Part part : parts) {
      part.block = block;
    }
  }

  void at(int event) {
    kind = Block.kind(event);
    parts[kind].row = Block.row(event);
  }

  @Override
  public int numFields() {
    return FIRST_KIND + parts.length;
  }

  @Override
  public boolean isNullAt(int i) {
    return i >= FIRST_KIND && i - FIRST_KIND != kind;
  }

  @Override
  public int getInt(int i) {
    return kind;
  }

  @Override
  public long getLong(int i) {
    Part part = parts[kind];
    return part.getLong(part.time);
  }

  @Override
  public InternalRow getStruct(int i, int fields) {
    return parts[i - FIRST_KIND];
  }

  @Override
  public Object get(int i, DataType type) {
    return switch (i) {
      case 0 -> kind;
      case 1 -> getLong(1);
      default -> isNullAt(i) ? null : parts[i - FIRST_KIND];
    };
  }

  @Override
  public InternalRow copy() {
    Object[] values = {kind, getLong(1), null, null, null};
    values[FIRST_KIND + kind] = parts[kind].copy();
    return new GenericInternalRow(values);
  }

  private static final class Part extends ReadOnlyRow {
    private final int kind;
    private final DataType[] types;
    private final int time;
    private Block block;
    private int row;

    Part(int kind, StructType type) {
      this.kind = kind;
      this.types = new DataType[type.length()];
      for (int i = 0; i < types.length; i++) {
        types[i] = type.fields()[i].dataType();
      }
      this.time = type.fieldIndex("date_time");
    }

    @Override
    public int numFields() {
      return types.length;
    }

    @Override
    public boolean isNullAt(int i) {
      return false;
    }

    @Override
    public long getLong(int i) {
      long number = block.number(kind, i, row);
      return types[i] instanceof TimestampType ? number * 1000 : number;
    }

    @Override
    public UTF8String getUTF8String(int i) {
      return UTF8String.fromBytes(block.bytes, block.text(kind, i, row), block.length(kind, i, row));
    }

    @Override
    public Object get(int i, DataType type) {
      return types[i] instanceof StringType ? getUTF8String(i) : (Object) getLong(i);
    }

    @Override
    public InternalRow copy() {
      Object[] values = new Object[types.length];
      for (int i = 0; i < types.length; i++) {
        Object value = get(i, types[i]);
        values[i] = value instanceof UTF8String text ? text.copy() : value;
      }
      return new GenericInternalRow(values);
    }
  }
}
