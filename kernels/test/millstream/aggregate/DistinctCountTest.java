package millstream.aggregate;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.HashMap;
import java.util.Map;
import java.util.Random;
import millstream.Seeds;
import millstream.row.Rows;
import millstream.state.Absent;
import millstream.state.MemoryHandle;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.junit.jupiter.api.Test;

final class DistinctCountTest {
  private static final StructType VALUE = new StructType().add("value", "string");
  private static final StructType ENTRY =
      new StructType().add("value", VALUE, false).add("w0", "bigint", false).add("w1", "bigint", false);
  private static final ArrayType ENTRIES = DataTypes.createArrayType(ENTRY, false);
  private static final StructType PAYLOAD = new StructType().add("values", ENTRIES);

  /** A row that counts for the first filter, and perhaps for the second. */
  private static InternalRow row(String value, long weight, boolean both) {
    InternalRow entry = new GenericInternalRow(new Object[] {Rows.of(VALUE, value), weight, both ? weight : 0L});
    return Rows.of(PAYLOAD, new GenericArrayData(new Object[] {entry}));
  }

  private static Figures figures(MemoryHandle handle, boolean retractable) {
    return new Figures(new DistinctCount(0, ENTRIES, retractable), handle);
  }

  @Test
  void countsWhatIsLeftThroughEveryEpoch() {
    Seeds.each(random -> {
      MemoryHandle handle = new MemoryHandle();
      Figures figures = figures(handle, true);
      Map<String, long[]> wanted = new HashMap<>();
      for (int epoch = 0; epoch < 60; epoch++) {
        for (int i = 0; i < 6; i++) {
          change(random, figures, wanted);
        }
        assertEquals(counts(wanted), figures.result());
        figures.endOfEpoch();
      }
      assertTrue(handle.size("totals_distinct0") > 0, "the case is to spill");
    });
  }

  private static void change(Random random, Figures figures, Map<String, long[]> wanted) {
    String value = "value " + random.nextInt(40);
    long[] weights = wanted.computeIfAbsent(value, none -> new long[2]);
    if (random.nextInt(3) == 0 && weights[0] > weights[1]) {
      figures.add(row(value, -1, false), -1);
      weights[0]--;
    } else if (random.nextInt(2) == 0 && weights[1] > 0) {
      figures.add(row(value, -1, true), -1);
      weights[0]--;
      weights[1]--;
    } else {
      boolean both = random.nextBoolean();
      figures.add(row(value, 1, both), 1);
      weights[0]++;
      weights[1] += both ? 1 : 0;
    }
  }

  private static InternalRow counts(Map<String, long[]> wanted) {
    long first = wanted.values().stream().filter(weights -> weights[0] > 0).count();
    long second = wanted.values().stream().filter(weights -> weights[1] > 0).count();
    return new GenericInternalRow(new Object[] {first, second});
  }

  @Test
  void ofStreamsOnlyWhetherAValueIsThereIsKept() {
    MemoryHandle handle = new MemoryHandle();
    Figures figures = figures(handle, false);
    for (int i = 0; i < 200; i++) {
      figures.add(row("value " + i % 100, 1, i % 2 == 0), 1);
      if (i % 10 == 0) {
        figures.endOfEpoch();
      }
    }
    assertEquals(new GenericInternalRow(new Object[] {100L, 50L}), figures.result());
    assertEquals(100, handle.size("totals_distinct0"));
  }

  @Test
  void onceAllAreGoneFewAreKeptAsAtFirst() {
    MemoryHandle handle = new MemoryHandle();
    Figures figures = figures(handle, true);
    for (long weight : new long[] {1, -1}) {
      for (int i = 0; i < 40; i++) {
        figures.add(row("value " + i, weight, true), weight);
      }
      figures.endOfEpoch();
      assertEquals(weight > 0 ? 40 : 0, handle.size("totals_distinct0"));
    }
    figures.add(row("one", 1, true), 1);
    figures.endOfEpoch();
    assertEquals(new GenericInternalRow(new Object[] {1L, 1L}), figures.result());
    assertEquals(0, handle.size("totals_distinct0"));
  }

  @Test
  void refusesToTakeBackWhatIsNotThere() {
    Figures figures = figures(new MemoryHandle(), true);
    figures.add(row("one", 1, false), 1);
    figures.add(row("other", -1, false), -1);
    assertThrows(Absent.class, figures::result);
  }

  @Test
  void aRetractionMayComeBeforeItsRow() {
    Figures figures = figures(new MemoryHandle(), true);
    figures.add(row("one", -1, true), -1);
    figures.add(row("one", 1, true), 1);
    assertEquals(new GenericInternalRow(new Object[] {0L, 0L}), figures.result());
  }
}
