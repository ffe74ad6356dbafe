package millstream.rabbitmq;

import com.rabbitmq.stream.Message;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/** A message as a row: only the columns that were asked for. */
final class RecordRow {
  static final StructType SCHEMA =
      (StructType) DataType.fromDDL("key BINARY, value BINARY, headers ARRAY<STRUCT<key: STRING, value: BINARY>>,"
          + " partition INT, offset BIGINT, timestamp TIMESTAMP, stream STRING, message_id STRING");
  /** Application properties of a message that a job has written: the key of a row, and that its row is gone. */
  private static final String KEY = "millstream-key";

  private static final String DELETED = "millstream-deleted";

  private final String[] columns;
  private final UTF8String stream;
  private final int number;

  RecordRow(String[] columns, String stream, int number) {
    this.columns = columns;
    this.stream = UTF8String.fromString(stream);
    this.number = number;
  }

  InternalRow of(StreamTail.Entry entry) {
    Message message = entry.message();
    Map<String, Object> properties = message.getApplicationProperties();
    Map<String, Object> said = properties == null ? Map.of() : properties;
    Object[] values = new Object[columns.length];
    for (int at = 0; at < values.length; at++) {
      values[at] = switch (columns[at]) {
        case "key" -> said.containsKey(KEY) ? bytes(said.get(KEY)) : null;
        case "value" -> said.containsKey(DELETED) ? null : message.getBodyAsBinary();
        case "headers" -> headers(said);
        case "partition" -> number;
        case "offset" -> entry.offset();
        case "timestamp" -> Math.multiplyExact(entry.millis(), 1000L);
        case "stream" -> stream;
        case "message_id" -> messageId(message);
        default -> throw new IllegalArgumentException(columns[at]);
      };
    }
    return new GenericInternalRow(values);
  }

  private static UTF8String messageId(Message message) {
    Object found =
        message.getProperties() == null ? null : message.getProperties().getMessageId();
    return found == null ? null : UTF8String.fromString(found.toString());
  }

  private static GenericArrayData headers(Map<String, Object> properties) {
    return new GenericArrayData(properties.entrySet().stream()
        .map(header ->
            new GenericInternalRow(new Object[] {UTF8String.fromString(header.getKey()), bytes(header.getValue())}))
        .toArray());
  }

  private static byte[] bytes(Object value) {
    return value == null || value instanceof byte[]
        ? (byte[]) value
        : value.toString().getBytes(StandardCharsets.UTF_8);
  }
}
