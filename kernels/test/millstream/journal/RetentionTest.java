package millstream.journal;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class RetentionTest {
  private static final String WRITER = "job.sink";

  @TempDir
  Path journal;

  private Path folder;
  private long end;
  private long epoch;

  @BeforeEach
  void make() throws IOException {
    folder = Files.createDirectories(journal.resolve("t/0"));
    Files.createDirectories(folder.resolve("open"));
  }

  private Topic keeping(String limits) throws IOException {
    Files.writeString(journal.resolve("t/topic.json"), "{\"format\": 1, \"partitions\": 1" + limits + "}");
    return Topic.open(journal.toString(), "t");
  }

  private void publish(Topic topic, int epochs) throws IOException {
    for (int i = 0; i < epochs; i++) {
      SegmentName.Open open = SegmentName.Open.of(WRITER, epoch++, 0, 0, 0);
      try (SegmentWriter writer = new SegmentWriter(new LocalDisk(), topic.open(0, open), 1)) {
        writer.append(0, null, new byte[1000]);
        writer.sync();
        topic.log(0).publish(open, 1, writer.bytes());
      }
      end++;
    }
  }

  private int look(Topic topic, long published) throws IOException {
    return Retention.look(topic, 0, WRITER, published, Merging.Leave.ALWAYS);
  }

  private long first(Topic topic) throws IOException {
    PartitionLog log = topic.log(0);
    log.refresh();
    assertEquals(end, log.end());
    return log.first();
  }

  @Test
  void withoutLimitsAllStays() throws IOException {
    Topic topic = keeping("");
    publish(topic, 5);
    assertEquals(0, look(topic, epoch));
    assertEquals(0, first(topic));
  }

  @Test
  void bySize() throws IOException {
    Topic topic = keeping(", \"keep_bytes\": 5000");
    publish(topic, 20);
    assertTrue(look(topic, epoch) >= 15);
    assertEquals(0, look(topic, epoch));
    assertTrue(first(topic) >= 15 && first(topic) < 19);
  }

  @Test
  void byAgeTheLastOneStays() throws IOException, InterruptedException {
    Topic topic = keeping(", \"keep_ms\": 1");
    publish(topic, 4);
    Thread.sleep(5);
    assertEquals(3, look(topic, epoch));
    assertEquals(3, first(topic));
  }

  @Test
  void whatIsLookedForByItsTokenStays() throws IOException {
    Topic topic = keeping(", \"keep_bytes\": 1");
    publish(topic, 10);
    assertEquals(4, look(topic, 4));
    assertEquals(4, first(topic));
  }

  @Test
  void whatAMergedSegmentCoversDoesNotComeBack() throws IOException {
    Topic topic = keeping(", \"keep_bytes\": 1");
    publish(topic, Merging.FEW + 2);
    Merging.Waits covered = new Merging.Waits(java.time.Duration.ZERO, java.time.Duration.ofDays(1));
    assertTrue(Merging.look(topic, 0, WRITER, epoch, covered, Merging.Leave.ALWAYS) > 0);
    assertTrue(look(topic, epoch) > 0);
    assertEquals(end - 1, first(topic));
  }
}
