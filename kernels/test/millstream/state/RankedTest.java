package millstream.state;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import millstream.Seeds;
import millstream.row.Rows;
import org.apache.spark.sql.types.StructType;
import org.junit.jupiter.api.Test;

final class RankedTest {
  private static final StructType TYPE = new StructType().add("n", "bigint", false);
  private static final int WANTED = 3;

  private final MemoryHandle handle = new MemoryHandle();

  private Ranked<Long> ranked() {
    return new Ranked<>(
        Comparator.naturalOrder(),
        WANTED,
        10,
        Bag.spill(handle, "all", TYPE),
        n -> Rows.of(TYPE, n),
        row -> row.getLong(0),
        () -> new Absent("top", "a row"));
  }

  private static List<Long> first(SortedMap<Long, Long> counts) {
    List<Long> found = new ArrayList<>();
    counts.forEach((n, count) -> {
      for (long i = 0; i < count && found.size() < WANTED; i++) {
        found.add(n);
      }
    });
    return found;
  }

  /** As at the end of an epoch: nothing is left of the head but its entries. */
  private static void saveAndLoad(Ranked<Long> ranked) {
    Map<Long, Long> saved = new HashMap<>(ranked.head());
    ranked.load(ranked.complete());
    saved.forEach(ranked::put);
  }

  @Test
  void theFirstAreRightHoweverMuchIsTakenBack() {
    Seeds.each(random -> {
      Ranked<Long> ranked = ranked();
      TreeMap<Long, Long> wanted = new TreeMap<>();
      int most = 0;
      for (int epoch = 0; epoch < 200; epoch++) {
        Map<Long, Long> net = new HashMap<>();
        for (int i = 0; i < 4; i++) {
          long weight = epoch % 50 < 25 || wanted.isEmpty() ? 1 : -1;
          long n = weight > 0 ? random.nextInt(80) : wanted.firstKey();
          net.merge(n, weight, Long::sum);
          wanted.merge(n, weight, Long::sum);
          wanted.remove(n, 0L);
        }
        ranked.apply(net);
        assertEquals(first(wanted), first(ranked.head()));
        most = Math.max(most, handle.size("all"));
        saveAndLoad(ranked);
      }
      assertTrue(most > 10, "the case is to spill");
      ranked.drop();
    });
  }

  @Test
  void whatIsNeverTakenBackIsKeptIfItIsWanted() {
    Seeds.each(random -> {
      Ranked<Long> ranked = new Ranked<>(Comparator.naturalOrder(), WANTED);
      TreeMap<Long, Long> wanted = new TreeMap<>();
      for (int i = 0; i < 200; i++) {
        long n = 1000 - i + random.nextInt(100);
        long weight = 1 + random.nextInt(2);
        ranked.offer(n, weight, same -> same);
        wanted.merge(n, weight, Long::sum);
        assertEquals(first(wanted), first(ranked.head()));
        assertTrue(ranked.head().size() <= WANTED);
      }
    });
  }

  @Test
  void refusesToTakeBackWhatIsNotThere() {
    for (int count : new int[] {1, 40}) {
      Ranked<Long> ranked = ranked();
      for (long n = 0; n < count; n++) {
        ranked.apply(Map.of(n, 1L));
      }
      assertThrows(Absent.class, () -> ranked.apply(Map.of(1000L, -1L)));
      ranked.drop();
    }
  }
}
