package millstream.journal;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class MergingTest {
  private static final String WRITER = "job.sink";

  @TempDir
  Path journal;

  private Path folder;
  private Topic topic;
  private long end;
  private long epoch;

  @BeforeEach
  void make() throws IOException {
    folder = Files.createDirectories(journal.resolve("t/0"));
    topic = Topic.of(journal.toString(), "t", 1);
  }

  /** Publishes an epoch with this many rows, each with its own offset. */
  private void publish(int rows) throws IOException {
    SegmentName.Open open = SegmentName.Open.of(WRITER, epoch++, 0, 0, 0);
    Files.createDirectories(folder.resolve("open"));
    try (SegmentWriter writer = new SegmentWriter(new LocalDisk(), topic.open(0, open), 1)) {
      for (int i = 0; i < rows; i++) {
        writer.append(0, null, Long.toString(end + i).getBytes());
      }
      writer.sync();
      topic.log(0).publish(open, rows, writer.bytes());
    }
    end += rows;
  }

  private void publish(int epochs, int rows) throws IOException {
    for (int i = 0; i < epochs; i++) {
      publish(rows);
    }
  }

  private int look(Merging.Waits waits) throws IOException {
    return Merging.look(topic, 0, WRITER, epoch, waits, Merging.Leave.ALWAYS);
  }

  private int files() throws IOException {
    try (var listed = Files.list(folder)) {
      return (int) listed.filter(file -> file.toString().endsWith(".seg")).count();
    }
  }

  private List<Long> read(long from) throws IOException {
    PartitionLog log = topic.log(0);
    log.refresh();
    return rest(new LogReader(log, from));
  }

  private static List<Long> rest(LogReader reader) throws IOException {
    List<Long> found = new ArrayList<>();
    while (reader.next()) {
      SegmentReader record = reader.record();
      int length = record.view().getInt(record.body() + 12);
      found.add(Long.parseLong(new String(record.buffer(), record.body() + 16, length)));
    }
    return found;
  }

  private static List<Long> range(long from, long until) {
    return IntStream.range((int) from, (int) until).mapToObj(Long::valueOf).toList();
  }

  @Test
  void manySmallOnesBecomeOne() throws IOException {
    publish(Merging.FEW + 1, 3);
    assertEquals(Merging.FEW, look(Merging.Waits.NONE));
    look(Merging.Waits.NONE);
    assertEquals(2, files());
    for (long from = 0; from <= end; from++) {
      assertEquals(range(from, end), read(from));
    }
  }

  @Test
  void howManyThereAreDoesNotGrow() throws IOException {
    for (int i = 0; i < 3000; i++) {
      publish(1 + i % 5);
      if (i % 10 == 0) {
        look(Merging.Waits.NONE);
      }
    }
    assertTrue(files() < 3 * Merging.FEW, "there are " + files());
    assertEquals(range(0, end), read(0));
  }

  @Test
  void fewStayAsTheyAre() throws IOException {
    publish(Merging.FEW, 1);
    assertEquals(0, look(Merging.Waits.NONE));
  }

  @Test
  void youngOnesStayAsTheyAre() throws IOException {
    publish(Merging.FEW + 1, 1);
    assertEquals(0, look(Merging.Waits.USUAL));
    try (var listed = Files.list(folder)) {
      for (Path file : listed.toList()) {
        Files.setLastModifiedTime(file, FileTime.fromMillis(0));
      }
    }
    assertEquals(Merging.FEW, look(Merging.Waits.USUAL));
    look(Merging.Waits.USUAL);
    assertEquals(Merging.FEW + 2, files(), "what is covered stays for a while");
    look(new Merging.Waits(Duration.ofDays(1), Duration.ZERO));
    assertEquals(2, files());
  }

  @Test
  void epochsThatAreNotKnownToBePublishedStay() throws IOException {
    publish(2 * Merging.FEW, 1);
    assertEquals(0, Merging.look(topic, 0, WRITER, Merging.FEW - 1, Merging.Waits.NONE, Merging.Leave.ALWAYS));
    assertEquals(Merging.FEW, Merging.look(topic, 0, WRITER, Merging.FEW, Merging.Waits.NONE, Merging.Leave.ALWAYS));
  }

  @Test
  void segmentsOfOthersStay() throws IOException {
    publish(Merging.FEW, 1);
    try (SegmentWriter producer = new SegmentWriter(
        new LocalDisk(), folder.resolve(String.format("%020d.seg", end)).toString(), 1)) {
      producer.append(0, null, Long.toString(end++).getBytes());
      producer.sync();
    }
    publish(Merging.FEW, 1);
    assertEquals(0, Merging.look(topic, 0, "job", epoch, Merging.Waits.NONE, Merging.Leave.ALWAYS));
    assertEquals(Merging.FEW, look(Merging.Waits.NONE));
    assertEquals(range(0, end), read(0));
  }

  @Test
  void whoMayNotDoesNothing() throws IOException {
    publish(Merging.FEW + 1, 1);
    assertEquals(0, Merging.look(topic, 0, WRITER, epoch, Merging.Waits.NONE, () -> false));
    assertThrows(
        IOException.class,
        () -> Merging.look(topic, 0, WRITER, epoch, Merging.Waits.NONE, () -> {
          throw new IOException("taken over");
        }));
    assertEquals(Merging.FEW + 1, files());
    assertEquals(range(0, end), read(0));
  }

  @Test
  void damageIsNotCopied() throws IOException {
    publish(Merging.FEW + 1, 2);
    Path third = folder.resolve(SegmentName.published(4, SegmentName.token(WRITER, 2, 0)));
    byte[] bytes = Files.readAllBytes(third);
    bytes[bytes.length - 3] ^= 1;
    Files.write(third, bytes);
    assertEquals(0, look(Merging.Waits.NONE));
    assertEquals(Merging.FEW + 1, files());
  }

  @Test
  void readersInMidReadGoOn() throws IOException {
    publish(Merging.FEW + 8, 3);
    List<LogReader> readers = new ArrayList<>();
    for (long from = 0; from < end; from++) {
      PartitionLog log = topic.log(0);
      log.refresh();
      LogReader reader = new LogReader(log, from);
      assertTrue(reader.next());
      readers.add(reader);
    }
    look(Merging.Waits.NONE);
    look(Merging.Waits.NONE);
    assertEquals(2, files());
    for (int from = 0; from < readers.size(); from++) {
      assertEquals(range(from + 1, end), rest(readers.get(from)));
    }
  }
}
