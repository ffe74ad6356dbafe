package millstream.row;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotSame;

import java.util.List;
import org.apache.spark.TaskContext$;
import org.apache.spark.TaskContextImpl;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.encoders.ExpressionEncoder;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;
import org.junit.jupiter.api.Test;
import scala.Option;

class RowFormTest {
  private static final StructType TYPE = StructType.fromDDL("n BIGINT NOT NULL, i INT, d DOUBLE, s STRING, b BINARY,"
      + " wide DECIMAL(30, 2), t TIMESTAMP, r STRUCT<a: STRING, b: BIGINT>, many ARRAY<STRUCT<a: INT>> NOT NULL");

  private static InternalRow row(long number, boolean nulls) {
    Object text = UTF8String.fromString("a text of no round length " + number);
    InternalRow one = new GenericInternalRow(new Object[] {(int) number});
    return new GenericInternalRow(new Object[] {
      number,
      nulls ? null : (int) number,
      nulls ? null : number / 3.0,
      nulls ? null : text,
      nulls ? null : new byte[] {1, 2, (byte) number},
      nulls ? null : Decimal.apply(number, 30, 2),
      nulls ? null : number * 1000,
      nulls ? null : new GenericInternalRow(new Object[] {text, number}),
      new GenericArrayData(nulls ? new Object[0] : new Object[] {one, one})
    });
  }

  /** State that Spark's own variables have written is found by these bytes. */
  @Test
  void aRowHasTheBytesThatSparksEncoderGivesIt() {
    var sparks = ExpressionEncoder.apply(new InternalRowEncoder(TYPE)).createSerializer();
    RowForm ours = new RowForm(TYPE);
    for (long number : List.of(0L, 7L, -1L, 1L << 40)) {
      for (boolean nulls : List.of(false, true)) {
        InternalRow row = row(number, nulls);
        UnsafeRow expected = (UnsafeRow) sparks.apply(row);
        assertArrayEquals(expected.getBytes(), ours.apply(row).getBytes());
        assertArrayEquals(expected.getBytes(), ours.apply(expected.copy()).getBytes());
      }
    }
  }

  /** The rows in which two forms of one task give what they have formed: each has its own, by which it is known. */
  private static List<UnsafeRow> formed(StructType type, String text, boolean inTask) {
    TaskContextImpl task = TaskContext$.MODULE$.empty();
    TaskContext$.MODULE$.setTaskContext(inTask ? task : null);
    try {
      InternalRow row = new GenericInternalRow(new Object[] {UTF8String.fromString(text)});
      UnsafeRow first = new RowForm(type).apply(row);
      UnsafeRow second = new RowForm(type).apply(row);
      assertNotSame(first, second);
      assertEquals(first, second);
      return List.of(first, second);
    } finally {
      TaskContext$.MODULE$.unset();
      task.markTaskCompleted(Option.empty());
    }
  }

  private static long same(List<UnsafeRow> some, List<UnsafeRow> others) {
    return some.stream()
        .filter(one -> others.stream().anyMatch(other -> one == other))
        .count();
  }

  @Test
  void theFormsOfATaskAreItsOwnAndThoseOfTheNextTaskAfterwards() {
    StructType type = StructType.fromDDL("kept STRING");
    assertEquals(2, same(formed(type, "one", true), formed(type, "two", true)));
  }

  @Test
  void aFormThatHasHeldALargeRowIsNotKept() {
    StructType type = StructType.fromDDL("large STRING");
    assertEquals(0, same(formed(type, "x".repeat(1 << 20), true), formed(type, "two", true)));
  }

  @Test
  void outsideOfATaskNothingIsKept() {
    StructType type = StructType.fromDDL("loose STRING");
    assertEquals(0, same(formed(type, "one", false), formed(type, "two", false)));
  }
}
