package millstream.decode;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.nio.charset.StandardCharsets;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.types.StructType;
import org.junit.jupiter.api.Test;

final class DecoderTest {
  private static final StructType TYPE = new StructType().add("id", "bigint").add("name", "string");

  /** {@code more}: fields of the specification beside those that every source has. */
  private static Decoder decoder(String upserts, boolean changelog, String more) {
    String json = "{\"source\": \"people\", \"topic\": \"people\", \"on_error\": \"fail\", \"changelog\": " + changelog
        + ", \"upserts\": " + upserts + more + "}";
    try {
      return new Decoder(DecodeSpec.read(new ObjectMapper().readTree(json), TYPE));
    } catch (JsonProcessingException error) {
      throw new IllegalArgumentException(error);
    }
  }

  private static InternalRow record(String key, String value) {
    return new GenericInternalRow(new Object[] {bytes(key), bytes(value), 0, 42L, 1_000_000L});
  }

  private static byte[] bytes(String text) {
    return text == null ? null : text.getBytes(StandardCharsets.UTF_8);
  }

  private static String reason(Decoder decoder, String key, String value) {
    return assertThrows(Undecodable.class, () -> decoder.row(record(key, value)))
        .getMessage();
  }

  @Test
  void readsJsonOfTheGivenColumns() throws Undecodable {
    InternalRow row = decoder("[]", false, "").row(record(null, "{\"name\": \"Ada\", \"id\": 7, \"more\": true}"));
    assertEquals(7, row.getLong(0));
    assertEquals("Ada", row.getString(1));
    assertEquals(1, row.getLong(2), "the weight");
    InternalRow bare = decoder("[]", false, "").row(record(null, "{}"));
    assertTrue(bare.isNullAt(0) && bare.isNullAt(1));
  }

  @Test
  void saysWhyARecordCannotBeRead() {
    Decoder decoder = decoder("[]", false, "");
    assertTrue(reason(decoder, null, "{\"id\": ").contains("not the JSON that was expected"));
    assertTrue(reason(decoder, null, "{\"id\": \"seven\"}").contains("not the JSON that was expected"));
    assertTrue(reason(decoder, null, "{} {}").contains("goes on after the end of its JSON"));
    assertEquals("its value is empty", reason(decoder, null, ""));
    assertEquals("it has no value", reason(decoder, "1", null));
  }

  @Test
  void aChangelogSaysWhetherARowComesOrGoes() throws Undecodable {
    Decoder decoder = decoder("[]", true, "");
    assertEquals(1, decoder.row(record(null, "{\"id\": 1, \"op\": \"insert\"}")).getLong(2));
    assertEquals(
        -1, decoder.row(record(null, "{\"id\": 1, \"op\": \"delete\"}")).getLong(2));
    assertEquals("its op is missing, not insert or delete", reason(decoder, null, "{\"id\": 1}"));
  }

  @Test
  void anUpsertWithoutAValueDeletesItsKey() throws Undecodable {
    Decoder decoder = decoder("[\"id\"]", false, "");
    InternalRow gone = decoder.row(record("{\"id\": 7}", null));
    assertEquals(7, gone.getLong(0));
    assertTrue(gone.getBoolean(3));
    assertEquals(42, gone.getLong(4), "its place in the log");
    assertTrue(decoder.row(record("{\"id\": null}", null)).isNullAt(0));
    assertTrue(reason(decoder, "{\"other\": 7}", null).startsWith("its key lacks id"));
    assertEquals("it has neither value nor key", reason(decoder, null, null));
    assertEquals(
        7,
        decoder("[\"id\"]", false, ", \"key_format\": \"text\"")
            .row(record("7", null))
            .getLong(0));
  }

  @Test
  void readsDebeziumsEnvelopes() throws Undecodable {
    Decoder decoder = decoder("[\"id\"]", false, ", \"format\": \"debezium\"");
    String after = "{\"before\": null, \"after\": {\"id\": 1, \"name\": \"Ada\"}, \"op\": \"c\"}";
    assertEquals("Ada", decoder.row(record(null, after)).getString(1));
    assertEquals(
        "Ada", decoder.row(record(null, "{\"payload\": " + after + "}")).getString(1));
    InternalRow gone = decoder.row(record("{\"payload\": {\"id\": 1}}", "{\"before\": null, \"op\": \"d\"}"));
    assertEquals(1, gone.getLong(0));
    assertTrue(gone.getBoolean(3));
    assertNull(decoder.row(record(null, "{\"op\": \"m\"}")), "a message is not about rows");
    assertTrue(reason(decoder, null, "{\"op\": \"t\"}").contains("empties the whole table"));
    assertTrue(reason(decoder, null, "{\"op\": \"u\"}").contains("without the row after the change"));
    String unsent = "{\"after\": {\"id\": 1, \"name\": \"__debezium_unavailable_value\"}, \"op\": \"u\"}";
    assertTrue(reason(decoder, null, unsent).startsWith("it lacks name"));
  }
}
