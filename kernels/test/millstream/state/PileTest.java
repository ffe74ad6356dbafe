package millstream.state;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import millstream.Seeds;
import millstream.row.Rows;
import org.apache.spark.sql.types.StructType;
import org.junit.jupiter.api.Test;

final class PileTest {
  private static final StructType TYPE =
      new StructType().add("n", "bigint", false).add("name", "string");

  private static List<Long> numbers(Pile pile) {
    List<Long> found = new ArrayList<>();
    pile.iterator().forEachRemaining(held -> {
      assertEquals("row " + held.row.getLong(0), held.row.getString(1));
      assertEquals(held.row.getLong(0) % 5 + 1, held.weight);
      found.add(held.row.getLong(0));
    });
    return found;
  }

  @Test
  void givesAllRowsInTheirOrder() {
    Seeds.each(random -> {
      MemoryHandle handle = new MemoryHandle();
      Pile pile = new Pile(handle, "rows", TYPE);
      pile.load(null);
      List<Long> wanted = new ArrayList<>();
      // Of one, a few, more than stay in value state, and more than a chunk: through more chunks than are remembered.
      int[] sizes = {1, 5, 20, 300};
      for (int epoch = 0; epoch < 40; epoch++) {
        for (int i = sizes[random.nextInt(sizes.length)]; i > 0; i--) {
          long n = wanted.size();
          pile.add(Rows.of(TYPE, n, "row " + n), n % 5 + 1);
          wanted.add(n);
          if (random.nextInt(50) == 0) {
            assertEquals(wanted, numbers(pile));
          }
        }
        assertTrue(pile.dirty());
        pile.load(Rows.own(Pile.type(TYPE), pile.save()));
        assertEquals(wanted, numbers(pile));
      }
      assertTrue(handle.size("rows") > 8, "the case is to have many chunks");
    });
  }
}
