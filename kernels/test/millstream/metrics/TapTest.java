package millstream.metrics;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.charset.StandardCharsets;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.types.CalendarIntervalType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;
import org.junit.jupiter.api.Test;

/** What is kept of a row. */
final class TapTest {
  private static final StructType TYPE =
      StructType.fromDDL("name STRING, price DECIMAL(9,2), at TIMESTAMP, tags ARRAY<INT>");

  private final Samples samples = new Samples();

  private List<String> seen() {
    return samples.value().lines().stream().map(Sampled.Line::row).toList();
  }

  @Test
  void aRowIsJsonWithItsNulls() {
    Object[] values = {UTF8String.fromString("ann"), Decimal.apply(150, 9, 2), 1_767_225_600_000_000L, null};
    new Tap(samples, TYPE).see(new GenericInternalRow(values), -1);
    assertEquals(
        List.of("{\"name\":\"ann\",\"price\":1.50,\"at\":\"2026-01-01T00:00:00.000Z\",\"tags\":null}"), seen());
    assertEquals(-1, samples.value().lines().get(0).weight());
  }

  @Test
  void whatIsLongIsCut() {
    new Tap(samples, null).see("x".repeat(5_000).getBytes(StandardCharsets.UTF_8), 1);
    assertEquals(2_001, seen().get(0).length());
  }

  @Test
  void aTypeWithoutJsonDoesNotEndTheRun() {
    StructType odd = new StructType().add("text", DataTypes.StringType).add("odd", new CalendarIntervalType());
    Tap tap = new Tap(samples, odd);
    for (int row = 0; row < 3; row++) {
      tap.see(new GenericInternalRow(new Object[] {UTF8String.fromString("a"), "no interval"}), 1);
    }
    assertEquals(List.of(), seen());
  }

  @Test
  void whatASinkIsNotGivenIsNotSeen() {
    new Tap(samples, null).see((byte[]) null, -1);
    assertEquals(List.of(), seen());
  }
}
