package millstream.metrics;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

/** The last rows of all tasks, each once, in whatever order they are heard of. */
final class SamplesTest {
  private static final long TASK = -1;
  private static final long OTHER = 7;

  private final Samples driver = new Samples();

  /** A task's copy; its number is that of a copy that was never sent. */
  private static Samples task(long... times) {
    Samples samples = new Samples();
    LongStream.of(times).forEach(at -> samples.add(new Sampled.Line(at, 1, "{}")));
    return samples;
  }

  private List<Long> seen() {
    return driver.newest().lines().stream().map(Sampled.Line::at).toList();
  }

  @Test
  void theNewestAreKept() {
    driver.merge(task(LongStream.range(0, 30).toArray()));
    driver.heard(OTHER, task(25, 40).value());
    assertEquals(Sampled.KEPT, seen().size());
    assertEquals(List.of(28L, 29L, 40L), seen().subList(17, 20));
  }

  @Test
  void aTaskThatEndsIsSeenOnce() {
    driver.heard(TASK, task(1).value());
    driver.merge(task(1, 2));
    driver.heard(TASK, task(1).value());
    assertEquals(List.of(1L, 2L), seen());
    driver.ended(TASK);
    assertEquals(List.of(1L, 2L), seen());
  }

  @Test
  void whatATaskKeptStaysWhenItIsStopped() {
    driver.heard(OTHER, task(3).value());
    driver.ended(OTHER);
    assertEquals(List.of(3L), seen());
  }

  @Test
  void fiveRowsASecondAreWanted() {
    Samples samples = new Samples();
    for (int row = 0; row < 5; row++) {
      assertTrue(samples.wants());
    }
    assertFalse(samples.wants() && samples.wants());
  }
}
