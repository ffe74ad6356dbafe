package millstream.aggregate;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import millstream.Seeds;
import millstream.row.Rows;
import millstream.state.Absent;
import millstream.state.MemoryHandle;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.junit.jupiter.api.Test;

final class RetractableExtremeTest {
  private static final StructType PAYLOAD = new StructType().add("value", "bigint");

  @Test
  void isRightThoughTheBestAreTakenBack() {
    for (boolean greatest : new boolean[] {false, true}) {
      Seeds.each(random -> {
        MemoryHandle handle = new MemoryHandle();
        Figures figures = new Figures(new RetractableExtreme(0, DataTypes.LongType, greatest), handle);
        List<Long> values = new ArrayList<>();
        int most = 0;
        for (int epoch = 0; epoch < 100; epoch++) {
          for (int i = 0; i < 5; i++) {
            if (epoch % 50 >= 25 && !values.isEmpty()) {
              // The best go first, so that the head runs empty.
              Collections.sort(values);
              long gone = values.remove(greatest ? values.size() - 1 : 0);
              figures.add(Rows.of(PAYLOAD, gone), -1);
            } else {
              long value = random.nextInt(60);
              values.add(value);
              figures.add(Rows.of(PAYLOAD, value), 1);
            }
          }
          Long wanted = values.isEmpty() ? null : greatest ? Collections.max(values) : Collections.min(values);
          assertEquals(wanted, figures.result());
          figures.endOfEpoch();
          most = Math.max(most, handle.size("totals_values0"));
        }
        assertTrue(most > 16, "the case is to spill");
      });
    }
  }

  @Test
  void nullsDoNotCountAndNothingUnknownIsTakenBack() {
    Figures figures = new Figures(new RetractableExtreme(0, DataTypes.LongType, true), new MemoryHandle());
    figures.add(Rows.of(PAYLOAD, (Object) null), 1);
    assertEquals(null, figures.result());
    figures.add(Rows.of(PAYLOAD, 5L), -1);
    assertThrows(Absent.class, figures::result);
  }
}
