package millstream.state;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Set;
import java.util.TreeSet;
import millstream.Seeds;
import millstream.row.Rows;
import org.apache.spark.sql.catalyst.InternalRow;
import org.junit.jupiter.api.Test;

final class AlarmTest {
  private final MemoryHandle handle = new MemoryHandle();
  private final Alarm alarm = new Alarm(handle);

  @Test
  void aKeyHasOneTimerForTheFirstOfItsEnds() {
    alarm.load(null);
    alarm.at(50);
    alarm.at(30);
    alarm.at(40);
    assertTrue(alarm.set());
    assertEquals(Set.of(30L), handle.timers());
    alarm.load(Rows.own(Alarm.TYPE, alarm.save()));
    alarm.at(60);
    assertFalse(alarm.set(), "a later end changes nothing");
    alarm.at(20);
    assertTrue(alarm.set());
    assertEquals(Set.of(20L), handle.timers());
    alarm.clear();
    assertEquals(Set.of(), handle.timers());
  }

  @Test
  void whatEndsAtOnceIsDueBeforeItHasATimer() {
    alarm.load(null);
    alarm.at(30);
    assertFalse(alarm.due(29));
    assertTrue(alarm.due(30));
    alarm.set();
    assertFalse(alarm.due(30), "its timer will ring");
  }

  /** Things come with an end each; whenever time has passed one, a timer has rung at that end or before. */
  @Test
  void noEndIsMissed() {
    Seeds.each(random -> {
      handle.timers().clear();
      TreeSet<Long> ends = new TreeSet<>();
      InternalRow saved = null;
      for (long watermark = 0; watermark < 2000; watermark += 1 + random.nextInt(20)) {
        while (!handle.timers().isEmpty() && handle.timers().first() <= watermark) {
          // As Spark does, which takes the timer away that has rung.
          long rung = handle.timers().pollFirst();
          alarm.load(saved);
          alarm.ring(rung);
          ends.headSet(watermark, true).clear();
          saved = save(ends);
        }
        assertTrue(ends.isEmpty() || ends.first() > watermark, "an end was missed");
        if (random.nextInt(3) > 0) {
          alarm.load(saved);
          ends.add(watermark + 1 + random.nextInt(100));
          saved = save(ends);
        }
      }
    });
  }

  private InternalRow save(TreeSet<Long> ends) {
    if (!ends.isEmpty()) {
      alarm.at(ends.first());
    }
    alarm.set();
    assertTrue(handle.timers().size() <= 1, "one timer per key");
    return ends.isEmpty() ? null : Rows.own(Alarm.TYPE, alarm.save());
  }
}
