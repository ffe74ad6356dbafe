package millstream.commit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import millstream.Seeds;
import millstream.journal.Disk;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class DecisionsTest {
  private static final ObjectNode NOTHING = JsonNodeFactory.instance.objectNode();

  @TempDir
  Path folder;

  private static ObjectNode rows() {
    ObjectNode rows = JsonNodeFactory.instance.objectNode();
    rows.putObject("job.out.1").put("of", "the sink");
    return rows;
  }

  private Decisions takeOver() throws IOException {
    return Decisions.takeOver(folder.toString());
  }

  private static void commit(Decisions run, long epoch, ObjectNode sinks) throws IOException {
    run.prepared(epoch, sinks);
    run.commit(epoch, "v1\nepoch " + epoch, NOTHING);
    run.recorded();
  }

  private List<String> files() throws IOException {
    try (Stream<Path> found = Files.list(folder)) {
      return found.map(path -> path.getFileName().toString()).sorted().toList();
    }
  }

  @Test
  void whoWasTakenOverFromCommitsNothingMore() throws IOException {
    Decisions first = takeOver();
    commit(first, 0, rows());
    Decisions second = takeOver();
    assertEquals(0, second.lastEpoch());
    assertThrows(CheckpointException.class, first::requireOwn);
    assertThrows(CheckpointException.class, () -> first.commit(1, "", NOTHING));
    second.requireOwn();
    commit(second, 1, rows());
    assertThrows(CheckpointException.class, () -> first.commit(1, "", NOTHING));
    assertEquals(1, takeOver().lastEpoch());
  }

  @Test
  void whoStartsAgainTakesOverFromItselfOnly() throws IOException {
    Decisions.takeOver(folder.toString(), "a", false);
    Decisions again = Decisions.takeOver(folder.toString(), "a", true);
    commit(again, 0, rows());
    Decisions third = Decisions.takeOver(folder.toString(), "a", true);
    assertThrows(CheckpointException.class, () -> commit(again, 1, rows()));
    commit(third, 1, rows());
    takeOver();
    assertThrows(CheckpointException.class, () -> Decisions.takeOver(folder.toString(), "a", true));
  }

  @Test
  void aStartThatFailedAtOnceIsNotSomebodyElse() throws IOException {
    Decisions.takeOver(folder.toString(), "a", false);
    for (int failed = 0; failed < 3; failed++) {
      Decisions.takeOver(folder.toString(), "a", true); // it fails before anybody knows its name
    }
    commit(Decisions.takeOver(folder.toString(), "a", true), 0, rows());
    assertThrows(CheckpointException.class, () -> Decisions.takeOver(folder.toString(), "aa", true));
  }

  @Test
  void anEpochThatWasDecidedBeforeAnErrorCountsAndIsNobodyElses() throws IOException {
    Decisions run = Unanswered.takeOver(folder.toString());
    run.prepared(0, rows());
    assertThrows(IOException.class, () -> run.commit(0, "v1", NOTHING));
    assertTrue(run.inDoubt());
    run.requireOwn();
    Decisions next = takeOver();
    assertEquals(List.of(0L), next.unpublished().stream().map(Decision::epoch).toList());
    assertThrows(CheckpointException.class, run::requireOwn);
  }

  @Test
  void whatIsNotPublishedIsFoundByTheNext() throws IOException {
    Decisions first = takeOver();
    commit(first, 0, rows());
    commit(first, 1, NOTHING);
    commit(first, 2, rows());
    first.published(first.unpublished().get(0));
    List<Decision> left = takeOver().unpublished();
    assertEquals(List.of(1L, 2L), left.stream().map(Decision::epoch).toList());
    assertEquals("v1\nepoch 2", left.get(1).commit());
    assertEquals(rows(), left.get(1).sinks());
  }

  @Test
  void whatSparksLogLacksIsNotPublished() throws IOException {
    Decisions run = takeOver();
    run.prepared(0, rows());
    run.commit(0, "v1", NOTHING);
    assertTrue(run.unpublished().isEmpty());
    assertEquals(1, takeOver().unpublished().size());
    run.recorded();
    assertEquals(1, run.unpublished().size());
  }

  @Test
  void oldOnesGoAndTimeStays() throws IOException {
    Decisions run = takeOver();
    for (long epoch = 0; epoch < 50; epoch++) {
      run.prepared(epoch, rows());
      run.commit(epoch, "v1", JsonNodeFactory.instance.objectNode().put("clicks", epoch));
      run.recorded();
      run.unpublished().forEach(decision -> {
        try {
          run.published(decision);
        } catch (IOException e) {
          throw new AssertionError(e);
        }
      });
    }
    assertEquals(List.of("000000000000", "000000000050"), files());
    Decisions next = takeOver();
    assertEquals(49, next.lastWatermarks().get("clicks").asLong());
    assertTrue(next.unpublished().isEmpty());
    assertEquals(49, takeOver().lastEpoch());
  }

  @Test
  void ofManyRunsAtTheSameTimeOneCommitsAnEpoch() {
    Seeds.each(random -> {
      for (int round = 0; round < 20; round++) {
        Path own = folder.resolve("race" + random.nextLong());
        ConcurrentSkipListMap<Long, String> committed = new ConcurrentSkipListMap<>();
        List<Thread> runs = new ArrayList<>();
        List<Throwable> failures = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
          Random its = new Random(random.nextLong());
          Thread thread = new Thread(() -> run(own, its, committed));
          thread.setUncaughtExceptionHandler((any, error) -> {
            synchronized (failures) {
              failures.add(error);
            }
          });
          runs.add(thread);
        }
        runs.forEach(Thread::start);
        runs.forEach(DecisionsTest::join);
        assertEquals(List.of(), failures);
        // They may have stopped each other before any committed; one that is alone is stopped by nobody.
        runAlone(own, committed);
        long[] epochs = committed.keySet().stream().mapToLong(epoch -> epoch).toArray();
        assertEquals(LongStream.range(0, epochs.length).boxed().toList(), List.copyOf(committed.keySet()));
      }
    });
  }

  private static void join(Thread thread) {
    try {
      thread.join();
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }

  private static void runAlone(Path folder, ConcurrentSkipListMap<Long, String> committed) {
    try {
      Decisions run = Decisions.takeOver(Disk.of(folder.toString()), folder.toString(), "b", false);
      commit(run, run.lastEpoch() + 1, rows());
      committed.put(run.lastEpoch(), run.toString());
    } catch (IOException e) {
      throw new AssertionError(e);
    }
  }

  /** Takes over, commits and publishes until it is refused, a few times. */
  private static void run(Path folder, Random random, ConcurrentSkipListMap<Long, String> committed) {
    for (int times = 0; times < 5; times++) {
      try {
        Decisions run = Decisions.takeOver(slow(Disk.of(folder.toString()), random), folder.toString(), "a", false);
        for (long epoch = run.lastEpoch() + 1; random.nextInt(12) > 0; epoch++) {
          commit(run, epoch, random.nextBoolean() ? rows() : NOTHING);
          String before = committed.put(epoch, run.toString());
          if (before != null) {
            throw new AssertionError("epoch " + epoch + " was committed twice");
          }
          for (Decision decision : run.unpublished()) {
            run.published(decision);
          }
        }
      } catch (CheckpointException taken) {
        // As it should be.
      } catch (IOException e) {
        throw new AssertionError(e);
      }
    }
  }

  /** Each call may take a moment before it, and behind it. */
  private static Disk slow(Disk disk, Random random) {
    return Unanswered.disk((call, told) -> {
      pause(random);
      Object answer = call.invoke(disk, told);
      pause(random);
      return answer;
    });
  }

  private static void pause(Random random) {
    LockSupport.parkNanos(random.nextInt(random.nextInt(8) == 0 ? 10_000_000 : 50_000));
  }
}
