package millstream.state;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.HashMap;
import java.util.Iterator;
import java.util.Map;
import java.util.Random;
import millstream.Seeds;
import millstream.row.Rows;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.StructType;
import org.junit.jupiter.api.Test;

final class BagTest {
  private static final StructType TYPE = new StructType().add("name", "string").add("n", "bigint", false);

  private final MemoryHandle handle = new MemoryHandle();

  private Bag bag(boolean counted) {
    return new Bag("likes", TYPE, counted, Bag.spill(handle, "rows", TYPE, counted));
  }

  private static InternalRow row(long n) {
    return Rows.of(TYPE, n % 3 == 0 ? null : "row " + n, n);
  }

  /** As at the end of an epoch: through the bytes of value state. */
  private static void saveAndLoad(Bag bag, boolean counted) {
    bag.load(bag.isEmpty() ? null : Rows.own(Bag.type(TYPE, counted), bag.save()));
  }

  private static Map<Long, Long> weights(Bag bag) {
    Map<Long, Long> found = new HashMap<>();
    bag.iterator().forEachRemaining(held -> {
      assertEquals(row(held.row.getLong(1)), held.row);
      found.put(held.row.getLong(1), held.weight);
    });
    return found;
  }

  @Test
  void holdsWhatWasAddedThroughEveryEpoch() {
    Seeds.each(random -> {
      Bag bag = bag(false);
      bag.clear();
      Map<Long, Long> wanted = new HashMap<>();
      for (int epoch = 0; epoch < 60; epoch++) {
        for (int i = 0; i < 8; i++) {
          change(random, bag, wanted);
        }
        saveAndLoad(bag, false);
        assertEquals(wanted, weights(bag));
        assertEquals(wanted.isEmpty(), bag.isEmpty());
      }
      assertTrue(handle.size("rows") > 16, "the case is to spill");
    });
  }

  private static void change(Random random, Bag bag, Map<Long, Long> wanted) {
    long n = random.nextInt(40);
    long weight = random.nextInt(4) == 0 ? -wanted.getOrDefault(n, 0L) : 1 + random.nextInt(2);
    if (weight != 0) {
      bag.add(row(n), weight);
      if (wanted.merge(n, weight, Long::sum) == 0) {
        wanted.remove(n);
      }
    }
  }

  @Test
  void refusesToTakeBackWhatIsNotThere() {
    for (int rows : new int[] {0, 3, 40}) {
      Bag bag = bag(false);
      for (int i = 1; i <= rows; i++) {
        bag.add(row(i), 1);
      }
      Absent error = assertThrows(Absent.class, () -> bag.add(row(1000), -1));
      assertTrue(error.getMessage().startsWith("MS-STATE-001: step \"likes\" was asked to take back a row"));
      assertThrows(Absent.class, () -> bag.get(row(1000)));
      bag.clear();
    }
  }

  @Test
  void keepsHowManyPartnersARowHasMet() {
    for (int rows : new int[] {3, 40}) {
      Bag bag = bag(true);
      for (int i = 0; i < rows; i++) {
        bag.add(row(i), 2);
        bag.met(bag.get(row(i)), i);
      }
      bag.add(row(1), 1);
      saveAndLoad(bag, true);
      assertEquals(2, bag.get(row(2)).partners);
      assertEquals(3, bag.get(row(1)).weight);
      assertEquals(1, bag.get(row(1)).partners);
      bag.clear();
    }
  }

  @Test
  void rowsCanBeRemovedWhileTheyAreRead() {
    for (int rows : new int[] {4, 40}) {
      Bag bag = bag(false);
      for (int i = 0; i < rows; i++) {
        bag.add(row(i), 1);
      }
      saveAndLoad(bag, false);
      for (Iterator<Held> each = bag.iterator(); each.hasNext(); ) {
        if (each.next().row.getLong(1) % 2 == 0) {
          each.remove();
        }
      }
      assertTrue(bag.dirty());
      saveAndLoad(bag, false);
      assertEquals(rows / 2, weights(bag).size());
      assertFalse(weights(bag).containsKey(2L));
      bag.clear();
    }
  }

  @Test
  void keysDoNotSeeEachOthersRows() {
    Bag bag = bag(false);
    handle.key("one");
    for (int i = 0; i < 40; i++) {
      bag.add(row(i), 1);
    }
    InternalRow saved = Rows.own(Bag.type(TYPE), bag.save());
    handle.key("other");
    bag.load(null);
    bag.add(row(1), 5);
    assertEquals(Map.of(1L, 5L), weights(bag));
    handle.key("one");
    bag.load(saved);
    assertEquals(40, weights(bag).size());
  }
}
