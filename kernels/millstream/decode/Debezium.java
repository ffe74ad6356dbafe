package millstream.decode;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Reads Debezium's envelopes: {@code before, after, op}, bare or within {@code payload}. Taken as upserts and deletes by key,
 * for Debezium may send a change again after a crash, and {@code before} is often not whole.
 */
final class Debezium {
  /** A row to put, or a key to delete; a delete without {@code row} has its key in the record's key. */
  record Change(boolean deletes, InternalRow row) {}

  private static final int BEFORE = 0;
  private static final int AFTER = 1;
  private static final int OP = 2;
  private static final int PAYLOAD = 3;

  private final Json envelopes;
  private final int width;

  Debezium(StructType row) {
    StructType bare =
        new StructType().add("before", row).add("after", row).add("op", DataTypes.StringType);
    envelopes = new Json(bare.add("payload", bare));
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
        return new Change(false, envelope.getStruct(AFTER, width));
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
}
