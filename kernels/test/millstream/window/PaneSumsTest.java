package millstream.window;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import java.util.TreeMap;
import millstream.Seeds;
import millstream.aggregate.Figures;
import millstream.aggregate.KeptFigures;
import millstream.row.Rows;
import org.apache.spark.sql.types.StructType;
import org.junit.jupiter.api.Test;

final class PaneSumsTest {
  private static final long EVERY = 10;
  private static final StructType PAYLOAD =
      new StructType().add("n", "bigint", false).add("sum", "bigint", false).add("values", "bigint", false);

  /** Every window's sum is that of its panes, however panes and windows lie. */
  @Test
  void aWindowIsTheSumOfItsPanes() {
    Seeds.each(random -> {
      for (int round = 0; round < 50; round++) {
        long size = EVERY * (1 + random.nextInt(7));
        TreeMap<Long, KeptFigures> panes = new TreeMap<>();
        TreeMap<Long, long[]> plain = new TreeMap<>();
        for (int i = random.nextInt(20); i >= 0; i--) {
          long start = EVERY * (random.nextInt(40) - 20);
          long value = random.nextInt(100);
          panes.computeIfAbsent(start, none -> Figures.countAndSum(null)).add(Rows.of(PAYLOAD, 1L, value, 1L));
          long[] sums = plain.computeIfAbsent(start, none -> new long[2]);
          sums[0]++;
          sums[1] += value;
        }
        long last = panes.lastKey();
        PaneSums found = new PaneSums(panes, size, last, KeptFigures::saved, Figures::countAndSum);
        // Some windows are not asked for; those that are, in the order of time.
        for (long window = panes.firstKey() - size + EVERY; window <= last; window += EVERY * (1 + random.nextInt(3))) {
          assertSum(plain, window, size, found.of(window));
        }
      }
    });
  }

  private static void assertSum(TreeMap<Long, long[]> panes, long window, long size, KeptFigures found) {
    long[] wanted = new long[2];
    panes.subMap(window, window + size).values().forEach(sums -> {
      wanted[0] += sums[0];
      wanted[1] += sums[1];
    });
    if (wanted[0] == 0) {
      assertNull(found);
    } else {
      Object[] results = new Object[2];
      found.results(results, 0);
      assertArrayEquals(new Object[] {wanted[0], wanted[1]}, results);
    }
  }
}
