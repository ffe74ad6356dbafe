package millstream.metrics;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

/** What is known about running tasks and about those that have ended, in whatever order it arrives. */
final class CountsTest {
  private static final long TASK = -1;
  private static final long OTHER = 7;

  private final Counts driver = new Counts();

  /** A task's copy; its number is that of a copy that was never sent. */
  private static Counts task(long rows) {
    Counts counts = new Counts();
    counts.rowsIn = rows;
    return counts;
  }

  private static Figures rows(long rows) {
    return task(rows).value();
  }

  private long sum() {
    return driver.sum().rowsIn();
  }

  @Test
  void aRunningTaskCountsWithItsLastHeartbeat() {
    driver.heard(TASK, rows(3));
    driver.heard(OTHER, rows(10));
    assertEquals(13, sum());
    driver.heard(TASK, rows(5));
    assertEquals(15, sum());
  }

  @Test
  void aTaskThatEndsIsNotCountedTwice() {
    driver.heard(TASK, rows(3));
    driver.merge(task(5));
    assertEquals(5, sum());
    driver.heard(TASK, rows(4));
    assertEquals(5, sum(), "a heartbeat that was on its way");
    driver.ended(TASK);
    assertEquals(5, sum());
  }

  @Test
  void figuresNeverGoBack() {
    driver.heard(OTHER, rows(8));
    assertEquals(8, sum());
    driver.ended(OTHER);
    assertEquals(8, sum(), "it failed, and is done again");
    driver.merge(task(9));
    assertEquals(9, sum());
  }

  @Test
  void anEpochThatIsReadAgainCountsOnce() {
    driver.merge(task(5));
    driver.mark(0);
    driver.merge(task(6));
    driver.mark(1);
    driver.merge(task(3));
    driver.heard(OTHER, rows(4));
    assertEquals(18, sum());
    driver.back(1);
    assertEquals(18, sum(), "what was shown");
    driver.merge(task(8));
    assertEquals(19, sum(), "of epoch 2 only what is read again");
  }

  @Test
  void anEpochThatWasPreparedAndNotCommittedIsReadAgain() {
    driver.merge(task(5));
    driver.mark(3);
    driver.merge(task(6));
    driver.mark(4);
    driver.back(3);
    driver.merge(task(6));
    assertEquals(11, sum());
    driver.mark(4);
    driver.back(4);
    driver.merge(task(1));
    assertEquals(12, sum());
  }

  @Test
  void aRunThatFailsInItsFirstEpochBeginsWithNothing() {
    driver.merge(task(5));
    driver.back(41);
    driver.merge(task(7));
    assertEquals(7, sum());
  }

  @Test
  void whatATaskHadCountedAtItsLastBarrierStaysWhenItIsStopped() {
    driver.saved(TASK, rows(5));
    driver.saved(OTHER, rows(2));
    driver.mark(0);
    driver.heard(TASK, rows(9));
    assertEquals(11, sum());
    driver.saved(TASK, rows(7));
    assertEquals(11, sum(), "a heartbeat knew more");
    driver.ended(TASK);
    driver.ended(OTHER);
    driver.merge(task(3));
    assertEquals(12, sum(), "7 and 2 are saved");
  }

  @Test
  void aRunGoesBackToItsLastCommittedBarrier() {
    driver.saved(TASK, rows(5));
    driver.mark(0);
    driver.saved(TASK, rows(8));
    driver.mark(1);
    driver.back(0);
    driver.ended(TASK);
    driver.saved(OTHER, rows(4));
    driver.mark(1);
    driver.back(1);
    driver.merge(task(1));
    assertEquals(10, sum(), "5, then 4, then 1");
  }

  @Test
  void allFiguresAreAddedAndCopied() {
    Figures each = new Figures(1, 2, 3, 4, 5, 6, 7, 8);
    driver.add(each);
    driver.add(each);
    assertEquals(new Figures(2, 4, 6, 8, 10, 12, 14, 16), driver.value());
    assertEquals(driver.value(), driver.copy().value());
    driver.reset();
    assertTrue(driver.isZero());
  }
}
