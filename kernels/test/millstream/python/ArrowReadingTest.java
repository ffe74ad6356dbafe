package millstream.python;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.NoSuchElementException;
import millstream.row.Rows;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.ArrowUtils;
import org.junit.jupiter.api.Test;

class ArrowReadingTest {
  private static final StructType TYPE =
      new StructType().add("k", DataTypes.LongType).add("text", DataTypes.StringType);

  private static byte[] stream(List<UnsafeRow> rows) {
    try (ArrowWriting writing = new ArrowWriting("test", TYPE)) {
      rows.forEach(writing::write);
      return writing.take();
    }
  }

  private static final List<UnsafeRow> SOME = List.of(
      Rows.of(TYPE, 1L, "one"), Rows.of(TYPE, 2L, null), Rows.of(TYPE, null, "a text that is longer than a word"));

  @Test
  void rowsMayBeKept() {
    assertEquals(SOME, new ArrowReading("test", TYPE).rows(stream(SOME)));
  }

  @Test
  void viewsAreTheRowsOneAfterTheOther() {
    ArrowReading reading = new ArrowReading("test", TYPE);
    long before = ArrowUtils.rootAllocator().getAllocatedMemory();
    List<InternalRow> found = new ArrayList<>();
    ArrowReading.Views views = reading.views(stream(SOME));
    while (views.hasNext()) {
      assertTrue(views.hasNext(), "to ask again moves nothing");
      found.add(reading.kept(views.next()));
    }
    assertEquals(SOME, found);
    assertThrows(NoSuchElementException.class, views::next);
    assertEquals(before, ArrowUtils.rootAllocator().getAllocatedMemory(), "nothing is held behind the last row");
  }

  @Test
  void viewsThatAreClosedEarlyHoldNothing() {
    long before = ArrowUtils.rootAllocator().getAllocatedMemory();
    ArrowReading.Views views = new ArrowReading("test", TYPE).views(stream(SOME));
    views.next();
    views.close();
    views.close();
    assertFalse(views.hasNext());
    assertEquals(before, ArrowUtils.rootAllocator().getAllocatedMemory());
  }

  @Test
  void aStreamMayBeEmpty() {
    assertFalse(new ArrowReading("test", TYPE).views(stream(List.of())).hasNext());
  }
}
