package millstream.decode;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.BooleanType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.NumericType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/** Reads the key of a record that deletes: a JSON object with the key's columns, or the plain text of one column. */
final class RecordKey {
  private static final ObjectMapper JSON = new ObjectMapper();

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
    boolean any = false;
    for (int i = 0; i < fields.length; i++) {
      boolean there = !parsed.isNullAt(i);
      row[fields[i]] = there ? parsed.get(i, type.fields()[i].dataType()) : null;
      any |= there;
    }
    if (!any) {
      requireOurs(key);
    }
  }

  /** A missing column is NULL; but a key with only other columns is the key of something else. */
  private void requireOurs(byte[] key) throws Undecodable {
    try {
      JsonNode whole = JSON.readTree(key);
      JsonNode found = payload >= 0 && whole.hasNonNull("payload") ? whole.get("payload") : whole;
      if (text || !found.isEmpty() && Arrays.stream(type.fieldNames()).noneMatch(found::has)) {
        throw new Undecodable("its key lacks " + String.join(", ", type.fieldNames()) + ": " + Json.start(key));
      }
    } catch (IOException e) {
      throw new Undecodable("its key is not the JSON that was expected: " + Json.start(key));
    }
  }

  /** Numbers are read as JSON reads them; what is text in JSON, as dates are, is put into quotes. */
  private byte[] wrapped(byte[] key) {
    String plain = new String(key, StandardCharsets.UTF_8);
    DataType column = type.fields()[0].dataType();
    boolean bare = column instanceof NumericType || column instanceof BooleanType;
    String value = bare ? plain : JSON.getNodeFactory().textNode(plain).toString();
    String name = JSON.getNodeFactory().textNode(type.fields()[0].name()).toString();
    return ("{" + name + ":" + value + "}").getBytes(StandardCharsets.UTF_8);
  }
}
