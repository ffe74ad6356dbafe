package millstream.decode;

import java.util.Arrays;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Reads Debezium's envelopes: {@code before, after, op}, bare or within {@code payload}. Read as upserts and deletes by
 * key, because Debezium may send a change again after a crash, and {@code before} is often incomplete.
 */
final class Debezium {
  /** A row to put, or a key to delete; a delete without {@code row} has its key in the record's key. */
  record Change(boolean deletes, InternalRow row) {}

  private static final int BEFORE = 0;
  private static final int AFTER = 1;
  private static final int OP = 2;
  private static final int PAYLOAD = 3;
  private static final UTF8String UNSENT = UTF8String.fromString("__debezium_unavailable_value");

  private final Json envelopes;
  private final StructType type;
  private final int width;

  Debezium(StructType row) {
    StructType bare = new StructType().add("before", row).add("after", row).add("op", DataTypes.StringType);
    envelopes = new Json(bare.add("payload", bare));
    type = row;
    width = row.length();
  }

  /** Null for what is not about rows. */
  Change read(byte[] value) throws Undecodable {
    InternalRow parsed = envelopes.parse(value, "value");
    InternalRow envelope = parsed.isNullAt(PAYLOAD) ? parsed : parsed.getStruct(PAYLOAD, PAYLOAD);
    UTF8String op = envelope.isNullAt(OP) ? null : envelope.getUTF8String(OP);
    switch (op == null ? "" : op.toString()) {
      case "c":
      case "r":
      case "u":
        if (envelope.isNullAt(AFTER)) {
          throw new Undecodable("it is a Debezium envelope without the row after the change: " + Json.start(value));
        }
        InternalRow after = envelope.getStruct(AFTER, width);
        requireWhole(after);
        return new Change(false, after);
      case "d":
        return new Change(true, envelope.isNullAt(BEFORE) ? null : envelope.getStruct(BEFORE, width));
      case "m":
        return null;
      case "t":
        throw new Undecodable("it empties the whole table, which a change feed cannot be followed through");
      default:
        throw new Undecodable("it is no Debezium envelope: " + Json.start(value));
    }
  }

  /** Postgres does not send a large value that did not change, and Debezium sends a special word instead. */
  private void requireWhole(InternalRow after) throws Undecodable {
    for (int i = 0; i < width; i++) {
      DataType column = type.fields()[i].dataType();
      if (!after.isNullAt(i) && unsent(after.get(i, column), column)) {
        throw new Undecodable("it lacks " + type.fields()[i].name()
            + ", which did not change, and which Postgres sends only if its table has" + " REPLICA IDENTITY FULL");
      }
    }
  }

  private static boolean unsent(Object value, DataType column) {
    if (column instanceof ArrayType array) {
      ArrayData list = (ArrayData) value;
      return list.numElements() == 1
          && !list.isNullAt(0)
          && unsent(list.get(0, array.elementType()), array.elementType());
    }
    return UNSENT.equals(value) || value instanceof byte[] bytes && Arrays.equals(bytes, UNSENT.getBytes());
  }
}
