package millstream.journal;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class CompactionTest {
  private static final String WRITER = "job.sink";
  private static final long DAY = Duration.ofDays(1).toMillis();

  /** A record as it is read; without a value it deletes its key. */
  private record Row(long offset, String key, String value) {}

  @TempDir
  Path journal;

  private Path folder;
  private long epoch;
  private final List<Row> plain = new ArrayList<>();

  @BeforeEach
  void make() throws IOException {
    folder = Files.createDirectories(journal.resolve("t/0"));
    Files.createDirectories(folder.resolve("open"));
  }

  private Topic topic(long tombstones) {
    Retention.Keep keep = new Retention.Keep(Long.MAX_VALUE, Long.MAX_VALUE, tombstones);
    return Topic.of(journal.toString(), "t", 1, keep);
  }

  /** An epoch with these keys and values, one after the other. */
  private void publish(String... rows) throws IOException {
    Topic topic = topic(DAY);
    SegmentName.Open open = SegmentName.Open.of(WRITER, epoch++, 0, 0, 0);
    try (SegmentWriter writer = new SegmentWriter(new LocalDisk(), topic.open(0, open), 1)) {
      append(writer, rows);
      topic.log(0).publish(open, rows.length / 2, writer.bytes());
    }
  }

  private void produce(String... rows) throws IOException {
    Path file = folder.resolve(String.format("%020d.seg", plain.size()));
    try (SegmentWriter writer = new SegmentWriter(new LocalDisk(), file.toString(), 1)) {
      append(writer, rows);
    }
  }

  private void append(SegmentWriter writer, String... rows) throws IOException {
    for (int i = 0; i < rows.length; i += 2) {
      writer.append(System.currentTimeMillis(), bytes(rows[i]), bytes(rows[i + 1]));
      plain.add(new Row(plain.size(), rows[i], rows[i + 1]));
    }
    writer.sync();
  }

  private static byte[] bytes(String text) {
    return text == null ? null : text.getBytes();
  }

  private long look(long tombstones) throws IOException {
    return Compaction.look(topic(tombstones), 0, WRITER, epoch, Merging.Waits.NONE, Merging.Leave.ALWAYS);
  }

  private List<Row> read(long from) throws IOException {
    PartitionLog log = topic(DAY).log(0);
    log.refresh();
    assertEquals(plain.size(), log.end());
    return rest(new LogReader(log, from));
  }

  private static List<Row> rest(LogReader reader) throws IOException {
    List<Row> found = new ArrayList<>();
    while (reader.next()) {
      SegmentReader record = reader.record();
      int key = record.view().getInt(record.body() + 8);
      int at = record.body() + 12 + Math.max(0, key);
      int value = record.view().getInt(at);
      found.add(new Row(reader.offset() - 1, text(record, record.body() + 12, key), text(record, at + 4, value)));
    }
    return found;
  }

  private static String text(SegmentReader record, int from, int length) {
    return length < 0 ? null : new String(record.buffer(), from, length);
  }

  private static Map<String, String> table(List<Row> rows) {
    Map<String, String> found = new HashMap<>();
    for (Row row : rows) {
      if (row.value == null) {
        found.remove(row.key);
      } else if (row.key != null) {
        found.put(row.key, row.value);
      }
    }
    return found;
  }

  private List<String> files(String ending) throws IOException {
    try (var listed = Files.list(folder)) {
      return listed
          .map(file -> file.getFileName().toString())
          .filter(name -> name.endsWith(ending))
          .toList();
    }
  }

  private void fill(int epochs) throws IOException {
    for (int i = 0; i < epochs; i++) {
      publish("a", "a" + i, "b", "b" + i);
    }
  }

  @Test
  void onlyTheNewestOfEachKeyStays() throws IOException {
    fill(Merging.FEW + 1);
    assertEquals(2 * Merging.FEW - 2, look(DAY));
    assertEquals(0, look(DAY));
    assertEquals(1, files(".cmp").size());
    assertEquals(1, files(".seg").size());
    assertEquals(plain.subList(plain.size() - 4, plain.size()), read(0));
    for (long from = 0; from <= plain.size(); from++) {
      long start = from;
      assertEquals(read(0).stream().filter(row -> row.offset >= start).toList(), read(from));
    }
  }

  @Test
  void theTableStaysTheSame() throws IOException {
    for (long seed = 0; seed < 8; seed++) {
      clean();
      Random random = new Random(seed);
      for (int i = 0; i < 400; i++) {
        one(random);
        if (random.nextInt(20) == 0) {
          look(random.nextBoolean() ? DAY : -DAY);
          Merging.look(topic(DAY), 0, WRITER, epoch, Merging.Waits.NONE, Merging.Leave.ALWAYS);
          List<Row> found = read(0);
          assertEquals(table(plain), table(found), "seed " + seed);
          assertTrue(plain.containsAll(found));
          assertEquals(keyless(plain), keyless(found));
          long from = random.nextInt(plain.size() + 1);
          assertEquals(found.stream().filter(row -> row.offset >= from).toList(), read(from));
        }
      }
      assertTrue(files(".cmp").size() + files(".seg").size() < 5 * Merging.FEW);
    }
  }

  private void one(Random random) throws IOException {
    List<String> rows = new ArrayList<>();
    for (int i = 0; i <= random.nextInt(3); i++) {
      rows.add(random.nextInt(20) == 0 ? null : "k" + random.nextInt(10));
      rows.add(random.nextInt(4) == 0 && rows.get(rows.size() - 1) != null ? null : "v" + random.nextInt(100));
    }
    if (random.nextInt(10) == 0) {
      produce(rows.toArray(String[]::new));
    } else {
      publish(rows.toArray(String[]::new));
    }
  }

  private static List<Row> keyless(List<Row> rows) {
    return rows.stream().filter(row -> row.key == null).toList();
  }

  private void clean() throws IOException {
    for (String name : files("")) {
      Files.deleteIfExists(name.equals("open") ? folder.resolve("none") : folder.resolve(name));
    }
    plain.clear();
    Positions.forget();
  }

  @Test
  void tombstonesStayForTheirTime() throws IOException {
    publish("x", "1", "y", "1");
    publish("x", null);
    fill(Merging.FEW);
    look(DAY);
    assertTrue(read(0).contains(new Row(2, "x", null)));
    fill(3 * Merging.FEW);
    look(-DAY);
    assertFalse(read(0).stream().anyMatch(row -> "x".equals(row.key)));
    assertEquals(table(plain), table(read(0)));
  }

  @Test
  void whatIsNotOursStays() throws IOException {
    publish("x", "1");
    String theirs = SegmentName.published(0, SegmentName.token("other", 0, 0));
    Files.move(folder.resolve(files(".seg").get(0)), folder.resolve(theirs));
    publish("x", null);
    fill(Merging.FEW + 1);
    look(-DAY);
    assertTrue(files(".seg").contains(theirs));
    // It may not go: what it deletes lies before what was compacted.
    assertTrue(read(0).contains(new Row(1, "x", null)));
    assertEquals(table(plain), table(read(0)));
  }

  @Test
  void whoMayNotDoesNothing() throws IOException {
    fill(Merging.FEW + 1);
    Merging.Waits none = Merging.Waits.NONE;
    assertEquals(0, Compaction.look(topic(DAY), 0, WRITER, epoch, none, () -> false));
    assertThrows(
        IOException.class,
        () -> Compaction.look(topic(DAY), 0, WRITER, epoch, none, () -> {
          throw new IOException("taken over");
        }));
    assertEquals(0, Compaction.look(topic(DAY), 0, WRITER, epoch, Merging.Waits.USUAL, Merging.Leave.ALWAYS));
    assertEquals(0, Compaction.look(topic(DAY), 0, WRITER, 1, none, Merging.Leave.ALWAYS));
    assertEquals(plain, read(0));
  }

  @Test
  void damageIsNotCopied() throws IOException {
    fill(Merging.FEW + 1);
    Path third = folder.resolve(SegmentName.published(4, SegmentName.token(WRITER, 2, 0)));
    byte[] bytes = Files.readAllBytes(third);
    bytes[bytes.length - 3] ^= 1;
    Files.write(third, bytes);
    assertEquals(0, look(DAY));
    assertEquals(List.of(), files(".cmp"));
  }

  @Test
  void readersInMidReadGoOn() throws IOException {
    fill(Merging.FEW + 8);
    List<LogReader> readers = new ArrayList<>();
    for (long from = 0; from < plain.size(); from++) {
      PartitionLog log = topic(DAY).log(0);
      log.refresh();
      LogReader reader = new LogReader(log, from);
      assertTrue(reader.next());
      readers.add(reader);
    }
    look(DAY);
    look(DAY);
    for (int from = 0; from < readers.size(); from++) {
      List<Row> seen = new ArrayList<>(plain.subList(0, from + 1));
      seen.addAll(rest(readers.get(from)));
      assertEquals(table(plain), table(seen));
    }
  }
}
