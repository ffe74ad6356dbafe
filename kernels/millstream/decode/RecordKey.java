package millstream.decode;

import java.nio.charset.StandardCharsets;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/** Reads the key of a record that deletes: a JSON object with the key's columns, or the plain text of one column. */
final class RecordKey {
  private final int[] fields;
  private final StructType type;
  private final Json json;
  private final boolean text;
  private final int payload;

  private RecordKey(int[] fields, StructType type, boolean text, boolean wrapped) {
    this.fields = fields;
    this.type = type;
    this.text = text;
    this.payload = wrapped ? type.length() : -1;
    this.json = new Json(wrapped ? type.add("payload", type) : type);
  }

  static RecordKey of(DecodeSpec spec) {
    int[] fields = new int[spec.upserts.length];
    StructType type = new StructType();
    for (int i = 0; i < fields.length; i++) {
      fields[i] = spec.schema.fieldIndex(spec.upserts[i]);
      type = type.add(spec.schema.fields()[fields[i]]);
    }
    return new RecordKey(fields, type, spec.textKeys, spec.debezium());
  }

  void fill(Object[] row, byte[] key) throws Undecodable {
    if (text && type.fields()[0].dataType() instanceof StringType) {
      row[fields[0]] = UTF8String.fromBytes(key);
      return;
    }
    InternalRow parsed = json.parse(text ? wrapped(key) : key, "key");
    if (payload >= 0 && !parsed.isNullAt(payload)) {
      parsed = parsed.getStruct(payload, payload);
    }
    for (int i = 0; i < fields.length; i++) {
      StructField field = type.fields()[i];
      if (parsed.isNullAt(i)) {
        throw new Undecodable("its key lacks " + field.name() + ": " + Json.start(key));
      }
      row[fields[i]] = parsed.get(i, field.dataType());
    }
  }

  /** Numbers and the like are read as JSON reads them. */
  private byte[] wrapped(byte[] key) {
    String name = type.fields()[0].name().replace("\\", "\\\\").replace("\"", "\\\"");
    return ("{\"" + name + "\":" + new String(key, StandardCharsets.UTF_8) + "}").getBytes(StandardCharsets.UTF_8);
  }
}
