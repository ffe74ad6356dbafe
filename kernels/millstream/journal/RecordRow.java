package millstream.journal;

import java.nio.ByteBuffer;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.expressions.codegen.UnsafeArrayWriter;
import org.apache.spark.sql.catalyst.expressions.codegen.UnsafeRowWriter;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;

/** Writes a record into a row that is used again and again: only the columns that were asked for. */
final class RecordRow {
  static final StructType SCHEMA =
      (StructType) DataType.fromDDL("key BINARY, value BINARY, headers ARRAY<STRUCT<name: STRING, value: BINARY>>,"
          + " partition INT, offset BIGINT, timestamp TIMESTAMP");

  private final int key;
  private final int value;
  private final int headers;
  private final int partitionColumn;
  private final int offset;
  private final int timestamp;
  private final int partition;
  private final UnsafeRowWriter writer;
  private final UnsafeArrayWriter array;
  private final UnsafeRowWriter header;

  RecordRow(String[] columns, int partition) {
    this.partition = partition;
    key = find(columns, "key");
    value = find(columns, "value");
    headers = find(columns, "headers");
    partitionColumn = find(columns, "partition");
    offset = find(columns, "offset");
    timestamp = find(columns, "timestamp");
    writer = new UnsafeRowWriter(columns.length, 256);
    array = new UnsafeArrayWriter(writer, 8);
    header = new UnsafeRowWriter(array, 2);
  }

  private static int find(String[] columns, String name) {
    return java.util.Arrays.asList(columns).indexOf(name);
  }

  UnsafeRow of(LogReader reader) {
    SegmentReader record = reader.record();
    ByteBuffer body = record.view();
    int at = record.body();
    int end = at + record.bodyLength();
    writer.reset();
    writer.zeroOutNullBytes();
    if (timestamp >= 0) {
      writer.write(timestamp, Math.multiplyExact(body.getLong(at), 1000L));
    }
    if (partitionColumn >= 0) {
      writer.write(partitionColumn, partition);
    }
    if (offset >= 0) {
      writer.write(offset, reader.offset() - 1);
    }
    at = bytes(reader, key, at + 8, end);
    at = bytes(reader, value, at, end);
    if (headers >= 0) {
      headers(reader, at, end);
    }
    return writer.getRow();
  }

  /** Writes the bytes that begin with their length at {@code at}, if the column is wanted; gives where they end. */
  private int bytes(LogReader reader, int column, int at, int end) {
    int length = length(reader, at, end);
    int from = at + 4;
    if (column >= 0 && length < 0) {
      writer.setNullAt(column);
    } else if (column >= 0) {
      writer.write(column, reader.record().buffer(), from, length);
    }
    return from + Math.max(0, length);
  }

  private void headers(LogReader reader, int at, int end) {
    SegmentReader record = reader.record();
    int count = count(reader, at, end);
    int previous = writer.cursor();
    array.initialize(count);
    int next = at + 2;
    for (int i = 0; i < count; i++) {
      int nameLength = count(reader, next, end);
      int valueAt = next + 2 + nameLength;
      int valueLength = length(reader, valueAt, end);
      int before = array.cursor();
      header.resetRowWriter();
      header.write(0, record.buffer(), next + 2, nameLength);
      if (valueLength < 0) {
        header.setNullAt(1);
      } else {
        header.write(1, record.buffer(), valueAt + 4, valueLength);
      }
      array.setOffsetAndSizeFromPreviousCursor(i, before);
      next = valueAt + 4 + Math.max(0, valueLength);
    }
    writer.setOffsetAndSizeFromPreviousCursor(headers, previous);
  }

  private static int count(LogReader reader, int at, int end) {
    if (at + 2 > end) {
      throw reader.corrupt("headers that reach beyond the record");
    }
    return reader.record().view().getShort(at) & 0xFFFF;
  }

  private static int length(LogReader reader, int at, int end) {
    int length = at + 4 <= end ? reader.record().view().getInt(at) : Integer.MAX_VALUE;
    if (length < -1 || length > end - at - 4) {
      throw reader.corrupt("a length that reaches beyond the record");
    }
    return length;
  }
}
