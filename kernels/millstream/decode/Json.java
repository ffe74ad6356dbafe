package millstream.decode;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.util.JsonParserDelegate;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import org.apache.spark.sql.catalyst.InternalRow;
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

/** Reads JSON objects with Spark's own parser: types mean what they mean in {@code from_json}. */
final class Json implements Values {
  private final JacksonParser parser;
  private Whole read;

  /** Spark reads one value and closes: what follows it would be silently skipped. */
  private static final class Whole extends JsonParserDelegate {
    private boolean more;

    Whole(JsonParser of) {
      super(of);
    }

    @Override
    public void close() throws IOException {
      try {
        more = !isClosed() && nextToken() != null;
      } catch (IOException e) {
        more = true;
      } finally {
        super.close();
      }
    }
  }

  @SuppressWarnings("unchecked")
  Json(StructType type) {
    JSONOptions options = new JSONOptions(
        (scala.collection.immutable.Map<String, String>) (Object) Map$.MODULE$.empty(), "UTC", "_corrupt");
    parser =
        new JacksonParser(type, options, false, (scala.collection.immutable.Seq<org.apache.spark.sql.sources.Filter>)
            (Object) Seq$.MODULE$.empty());
  }

  @Override
  public InternalRow parse(byte[] json, String what) throws Undecodable {
    Function2<JsonFactory, byte[], JsonParser> open = this::open;
    Function1<byte[], UTF8String> literal = UTF8String::fromBytes;
    try {
      Iterator<InternalRow> rows = parser.parse(json, open, literal).iterator();
      if (rows.hasNext() && read.more) {
        throw new Undecodable("its " + what + " goes on after the end of its JSON: " + start(json));
      }
      if (rows.hasNext()) {
        return rows.next();
      }
    } catch (RuntimeException error) {
      throw unexpected(what, error, json);
    } catch (Throwable error) {
      if (error instanceof BadRecordException) {
        throw unexpected(what, error.getCause(), json);
      }
      throw error;
    }
    throw new Undecodable("its " + what + " is empty");
  }

  private static Undecodable unexpected(String what, Throwable error, byte[] json) {
    return new Undecodable(
        "its " + what + " is not the JSON that was expected (" + reason(error) + "): " + start(json));
  }

  private JsonParser open(JsonFactory factory, byte[] json) {
    try {
      read = new Whole(factory.createParser(json));
      return read;
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

  static String start(byte[] json) {
    String text = new String(json, 0, Math.min(json.length, 200), StandardCharsets.UTF_8);
    return json.length > 200 ? text + "…" : text;
  }
}
