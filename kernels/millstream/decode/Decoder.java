package millstream.decode;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.json.JSONOptions;
import org.apache.spark.sql.catalyst.json.JacksonParser;
import org.apache.spark.sql.catalyst.util.BadRecordException;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;
import scala.Function1;
import scala.Function2;
import scala.collection.Iterator;
import scala.collection.immutable.Map$;
import scala.collection.immutable.Seq$;

/** Reads JSON records, with Spark's own parser: types mean what they mean in {@code from_json}. */
final class Decoder {
  private static final String OP = "op";

  private final DecodeSpec spec;
  private final int width;
  private final JacksonParser values;
  private final JacksonParser keys;
  private final int[] keyFields;

  Decoder(DecodeSpec spec) {
    this.spec = spec;
    this.width = spec.outputType().length();
    this.values = parser(spec.changelog ? spec.schema.add(OP, "string") : spec.schema);
    StructType keyType = new StructType();
    this.keyFields = new int[spec.upserts.length];
    for (int i = 0; i < keyFields.length; i++) {
      keyFields[i] = spec.schema.fieldIndex(spec.upserts[i]);
      keyType = keyType.add(spec.schema.fields()[keyFields[i]]);
    }
    this.keys = keyFields.length == 0 ? null : parser(keyType);
  }

  @SuppressWarnings("unchecked")
  private static JacksonParser parser(StructType type) {
    JSONOptions options =
        new JSONOptions(
            (scala.collection.immutable.Map<String, String>) (Object) Map$.MODULE$.empty(), "UTC", "_corrupt");
    return new JacksonParser(
        type,
        options,
        false,
        (scala.collection.immutable.Seq<org.apache.spark.sql.sources.Filter>) (Object) Seq$.MODULE$.empty());
  }

  InternalRow row(InternalRow record) throws Undecodable {
    Object[] row = new Object[width];
    row[spec.weight()] = 1L;
    spec.arrived(row, record);
    boolean deleted = record.isNullAt(1);
    if (keyFields.length > 0) {
      row[spec.weight() + 1] = deleted;
      row[spec.weight() + 2] = record.getLong(3);
    }
    if (spec.versions) {
      row[spec.place()] = record.getLong(3);
      row[spec.place() + 1] = record.getLong(4);
    }
    if (deleted) {
      fillKey(row, record);
    } else {
      fill(row, parse(values, record.getBinary(1), "value"));
    }
    return new GenericInternalRow(row);
  }

  private void fill(Object[] row, InternalRow parsed) throws Undecodable {
    for (int i = 0; i < spec.schema.length(); i++) {
      row[i] = parsed.isNullAt(i) ? null : parsed.get(i, spec.schema.fields()[i].dataType());
    }
    if (spec.changelog) {
      row[spec.weight()] = weight(parsed.isNullAt(spec.schema.length()) ? null : parsed.getUTF8String(spec.schema.length()));
    }
  }

  private static long weight(UTF8String op) throws Undecodable {
    String text = op == null ? "missing" : op.toString();
    switch (text) {
      case "insert":
        return 1;
      case "delete":
        return -1;
      default:
        throw new Undecodable("its op is " + text + ", not insert or delete");
    }
  }

  private void fillKey(Object[] row, InternalRow record) throws Undecodable {
    if (keys == null) {
      throw new Undecodable("it has no value");
    }
    if (record.isNullAt(0)) {
      throw new Undecodable("it has neither value nor key");
    }
    InternalRow parsed = parse(keys, record.getBinary(0), "key");
    for (int i = 0; i < keyFields.length; i++) {
      row[keyFields[i]] =
          parsed.isNullAt(i) ? null : parsed.get(i, spec.schema.fields()[keyFields[i]].dataType());
    }
  }

  private static InternalRow parse(JacksonParser parser, byte[] json, String what) throws Undecodable {
    Function2<JsonFactory, byte[], JsonParser> open = Decoder::open;
    Function1<byte[], UTF8String> literal = UTF8String::fromBytes;
    try {
      Iterator<InternalRow> rows = parser.parse(json, open, literal).iterator();
      if (rows.hasNext()) {
        return rows.next();
      }
    } catch (RuntimeException error) {
      throw new Undecodable("its " + what + " is not the JSON that was expected (" + reason(error) + "): " + start(json));
    } catch (Throwable error) {
      if (error instanceof BadRecordException) {
        throw new Undecodable(
            "its " + what + " is not the JSON that was expected (" + reason(error.getCause()) + "): " + start(json));
      }
      throw error;
    }
    throw new Undecodable("its " + what + " is empty");
  }

  private static JsonParser open(JsonFactory factory, byte[] json) {
    try {
      return factory.createParser(json);
    } catch (IOException error) {
      throw new UncheckedIOException(error);
    }
  }

  private static String reason(Throwable error) {
    Throwable cause = error;
    while (cause != null && cause.getCause() != null) {
      cause = cause.getCause();
    }
    String text = cause == null || cause.getMessage() == null ? "malformed" : cause.getMessage();
    return text.lines().findFirst().orElse("malformed");
  }

  private static String start(byte[] json) {
    String text = new String(json, 0, Math.min(json.length, 200), StandardCharsets.UTF_8);
    return json.length > 200 ? text + "…" : text;
  }
}
