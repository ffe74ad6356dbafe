package millstream.state;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.TreeMap;
import millstream.Seeds;
import millstream.row.Rows;
import org.apache.spark.sql.types.StructType;
import org.junit.jupiter.api.Test;

final class TimelineTest {
  private static final StructType TYPE = new StructType().add("n", "bigint", false);

  private record At(long time, long place) implements Comparable<At> {
    @Override
    public int compareTo(At other) {
      return time == other.time ? Long.compare(place, other.place) : Long.compare(time, other.time);
    }
  }

  private static Timeline.Entry entry(At at, long n) {
    return new Timeline.Entry(at.time, at.place, Rows.of(TYPE, n));
  }

  private static List<Map.Entry<At, Long>> entries(Timeline line) {
    List<Map.Entry<At, Long>> found = new ArrayList<>();
    line.iterator()
        .forEachRemaining(entry -> found.add(
            Map.entry(new At(entry.time(), entry.place()), entry.value().getLong(0))));
    return found;
  }

  @Test
  void isInTheOrderOfTimeAsItGrowsAndShrinks() {
    Seeds.each(random -> {
      MemoryHandle handle = new MemoryHandle();
      Timeline line = new Timeline(TYPE, Timeline.spill(handle, "more", TYPE));
      line.load(null);
      NavigableMap<At, Long> wanted = new TreeMap<>();
      int most = 0;
      for (int epoch = 0; epoch < 120; epoch++) {
        boolean grows = epoch % 40 < 20;
        for (int i = 0; i < 4; i++) {
          if (grows || wanted.isEmpty()) {
            // Times before 1970, too, and several entries of one time.
            At at = new At(random.nextInt(60) - 30, random.nextInt(3) - 1);
            long n = random.nextInt();
            line.put(entry(at, n));
            wanted.put(at, n);
          } else {
            line.remove(entry(wanted.firstKey(), wanted.pollFirstEntry().getValue()));
          }
        }
        assertTrue(line.dirty() || grows);
        most = Math.max(most, handle.size("more"));
        line.load(line.isEmpty() ? null : Rows.own(Timeline.type(TYPE), line.save()));
        assertEquals(List.copyOf(wanted.entrySet()), entries(line));
      }
      assertTrue(most > 16, "the case is to spill");
      assertEquals(0, handle.size("more"), "few entries are moved back");
    });
  }
}
