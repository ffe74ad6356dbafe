package millstream.journal;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import millstream.Seeds;
import millstream.journal.SegmentReader.Met;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class SegmentsTest {
  private static final String FIRST = "00000000000000000000.seg";

  @TempDir
  Path folder;

  private final Disk disk = new LocalDisk();

  private String path(String name) {
    return folder.resolve(name).toString();
  }

  private void write(String name, List<byte[]> values) throws IOException {
    try (SegmentWriter writer = new SegmentWriter(disk, path(name), 1234)) {
      for (int i = 0; i < values.size(); i++) {
        writer.append(i, i % 2 == 0 ? null : ("key " + i).getBytes(), values.get(i));
      }
      writer.sync();
      assertEquals(values.size(), writer.records());
    }
  }

  private static List<byte[]> values(Random random, int count) {
    List<byte[]> values = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      // Now and then one that is larger than the buffer.
      byte[] value = new byte[random.nextInt(10) == 0 ? 100_000 : random.nextInt(200)];
      random.nextBytes(value);
      values.add(value);
    }
    return values;
  }

  /** The value of the record that was just read: behind its time and its key. */
  private static byte[] value(SegmentReader reader) {
    int key = reader.view().getInt(reader.body() + 8);
    int at = reader.body() + 12 + Math.max(0, key);
    int length = reader.view().getInt(at);
    return Arrays.copyOfRange(reader.buffer(), at + 4, at + 4 + length);
  }

  @Test
  void whatWasWrittenIsRead() {
    Seeds.each(random -> {
      try {
        Files.deleteIfExists(folder.resolve(FIRST));
        List<byte[]> values = values(random, 60);
        write(FIRST, values);
        try (SegmentReader reader = new SegmentReader(disk, path(FIRST), -1)) {
          assertEquals(1234, reader.created());
          for (byte[] value : values) {
            assertEquals(Met.RECORD, reader.next());
            assertArrayEquals(value, value(reader));
          }
          assertEquals(Met.END, reader.next());
        }
      } catch (IOException error) {
        throw new UncheckedIOException(error);
      }
    });
  }

  /** A file that a crash cut off, wherever that was: the records before are whole, and the rest is seen as torn. */
  @Test
  void aTornEndIsSeenAtEveryByte() throws IOException {
    write(FIRST, List.of(new byte[30], new byte[0], new byte[50]));
    byte[] whole = Files.readAllBytes(folder.resolve(FIRST));
    int records = 0;
    for (int length = 0; length < whole.length; length++) {
      Files.write(folder.resolve("torn"), Arrays.copyOf(whole, length));
      try (SegmentReader reader = new SegmentReader(disk, path("torn"), -1)) {
        int read = 0;
        Met met = reader.next();
        while (met == Met.RECORD) {
          read++;
          met = reader.next();
        }
        assertTrue(read == records || read == records + 1, "records come back one by one");
        records = read;
        boolean between = length == 0 || reader.position() == length;
        assertEquals(between ? Met.END : Met.TORN, met, "cut off at byte " + length);
      }
    }
    assertEquals(2, records);
  }

  @Test
  void aBadByteInTheMiddleIsNoTornEnd() throws IOException {
    write(FIRST, List.of(new byte[30], new byte[30]));
    byte[] bytes = Files.readAllBytes(folder.resolve(FIRST));
    bytes[SegmentReader.HEADER + SegmentReader.FRAME + 20] ^= 1;
    Files.write(folder.resolve(FIRST), bytes);
    PartitionLog log = new PartitionLog(disk, folder.toString(), "likes", 3);
    JournalException error = assertThrows(JournalException.class, log::end);
    assertTrue(error.getMessage().startsWith("MS-JOURNAL-003: topic \"likes\", partition 3"), error::getMessage);
  }

  @Test
  void theOneWithTheLockCutsOffATornEnd() throws IOException {
    write(FIRST, List.of(new byte[30], new byte[30], new byte[30]));
    byte[] whole = Files.readAllBytes(folder.resolve(FIRST));
    Files.write(folder.resolve(FIRST), Arrays.copyOf(whole, whole.length - 5));
    PartitionLog log = new PartitionLog(disk, folder.toString(), "likes", 0);
    assertEquals(2, log.end());
    assertEquals(whole.length - 5, Files.size(folder.resolve(FIRST)), "a reader changes nothing");
    assertEquals(2, log.endAfterRepair());
    assertEquals(whole.length - SegmentReader.FRAME - 18 - 30, Files.size(folder.resolve(FIRST)));
  }

  @Test
  void namesSayWhoseASegmentIs() {
    String token = SegmentName.token("totals", 7, 2);
    SegmentName published = SegmentName.of(SegmentName.published(12, token));
    assertEquals(12, published.base());
    assertEquals(token, published.token());
    SegmentName produced = SegmentName.of("00000000000000000012.seg");
    assertTrue(produced.byProducer());
    assertTrue(produced.compareTo(published) < 0, "a published segment comes after an empty one of the same base");
    assertNull(SegmentName.of("notes.txt"));
    SegmentName.Open open = SegmentName.Open.of("totals", 7, 2, 3, 99);
    assertEquals(open, SegmentName.Open.of(open.file()));
  }
}
