package millstream.journal;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** The segments of one partition, in the order of their bases. */
public final class PartitionLog {
  /** How far a folder's time of change may lag behind the clock: changes this close to a listing may be missed. */
  private static final long COARSE_MILLIS = 50;

  private final Disk disk;
  private final String folder;
  private final String topic;
  private final int partition;
  private List<SegmentName> segments = List.of();
  private SegmentName lastByProducer;
  private boolean repaired;
  private long listedAt;
  private long stamp = -1;

  PartitionLog(Disk disk, String folder, String topic, int partition) {
    this.disk = disk;
    this.folder = folder;
    this.topic = topic;
    this.partition = partition;
  }

  /** Lists the folder, unless it is known to be as it was. */
  public void refresh() throws IOException {
    long now = System.currentTimeMillis();
    long changed = disk.stamp(folder);
    if (changed >= 0 && changed == stamp && changed < listedAt - COARSE_MILLIS) {
      return;
    }
    List<SegmentName> found = new ArrayList<>();
    for (String file : disk.list(folder)) {
      SegmentName name = SegmentName.of(file);
      if (name != null) {
        found.add(name);
      }
    }
    found.sort(null);
    segments = found;
    lastByProducer =
        found.stream().filter(SegmentName::byProducer).reduce((a, b) -> b).orElse(null);
    stamp = changed;
    listedAt = now;
  }

  public List<SegmentName> segments() {
    return segments;
  }

  public String path(SegmentName segment) {
    return folder + "/" + segment.file();
  }

  /** The offset of the first record that is kept. */
  public long first() {
    return segments.isEmpty() ? 0 : segments.get(0).base();
  }

  /** The segment that holds the offset, or would; null if there are no segments that far back. */
  SegmentName holding(long offset) {
    SegmentName found = null;
    for (SegmentName segment : segments) {
      if (segment.base() <= offset) {
        found = segment;
      }
    }
    return found;
  }

  /** The segment after this one; null if it is the last. */
  SegmentName after(SegmentName segment) {
    for (int i = segments.size() - 1; i >= 0; i--) {
      if (segments.get(i).compareTo(segment) <= 0) {
        return i + 1 < segments.size() ? segments.get(i + 1) : null;
      }
    }
    return segments.isEmpty() ? null : segments.get(0);
  }

  /** A crash may leave a torn frame in the last segment that a producer wrote, and nowhere else. */
  boolean mayBeTorn(SegmentName segment) {
    return segment.equals(lastByProducer);
  }

  /** The offset that the next record will get: counts the last segment, from where it was counted before. */
  public long end() throws IOException {
    refresh();
    return segments.isEmpty() ? 0 : count(segments.get(segments.size() - 1), false);
  }

  /** As {@link #end}, for the one that holds the partition's lock: a torn frame is cut off. */
  public long endAfterRepair() throws IOException {
    refresh();
    if (!repaired && lastByProducer != null) {
      count(lastByProducer, true);
    }
    repaired = true;
    return end();
  }

  private long count(SegmentName segment, boolean cut) throws IOException {
    try (SegmentReader reader = new SegmentReader(disk, path(segment))) {
      long offset = seek(reader, segment, Long.MAX_VALUE);
      SegmentReader.Met met = reader.next();
      while (met == SegmentReader.Met.RECORD) {
        offset++;
        met = reader.next();
      }
      check(met, segment, reader, offset);
      remember(reader, offset);
      if (met == SegmentReader.Met.TORN && cut) {
        // Without a whole header nothing of the file is of use, but its name must stay: it may be the only one.
        disk.truncate(path(segment), reader.created() < 0 ? 0 : reader.position());
      }
      return offset;
    }
  }

  /** Moves to the nearest known place at or before an offset; gives the offset of that place. */
  long seek(SegmentReader reader, SegmentName segment, long offset) throws IOException {
    long created = reader.created();
    Map.Entry<Long, Long> known = created < 0 ? null : Positions.before(reader.path, created, offset);
    if (known == null) {
      return segment.base();
    }
    reader.seek(known.getValue());
    return known.getKey();
  }

  /** Lets later epochs begin here without counting again. */
  void remember(SegmentReader reader, long offset) throws IOException {
    if (reader.created() >= 0) {
      Positions.remember(reader.path, reader.created(), offset, reader.position());
    }
  }

  /** Spares counting a segment that was just published: its records were counted when they were written. */
  public void published(String file, long base, long records) throws IOException {
    try (SegmentReader reader = new SegmentReader(disk, folder + "/" + file);
        Disk.Input in = disk.open(reader.path)) {
      Positions.remember(reader.path, reader.created(), base + records, in.size());
    }
  }

  /** Whether a sink's file was published before. */
  public boolean holds(String token) throws IOException {
    refresh();
    return segments.stream().anyMatch(segment -> token.equals(segment.token()));
  }

  private void check(SegmentReader.Met met, SegmentName segment, SegmentReader reader, long offset) {
    if (met == SegmentReader.Met.BAD) {
      throw corrupt(reader, offset, "a frame that fails its checksum");
    }
    if (met == SegmentReader.Met.TORN && !mayBeTorn(segment)) {
      throw corrupt(reader, offset, "an incomplete frame at the end of the file");
    }
  }

  /** What the end of a segment's readable part means, given what follows. */
  void checkEnd(SegmentReader.Met met, SegmentName segment, SegmentReader reader, long offset) {
    check(met, segment, reader, offset);
    SegmentName next = after(segment);
    if (next != null && next.base() != offset) {
      throw corrupt(reader, offset, "the segment ends here, and the next begins at offset " + next.base());
    }
  }

  JournalException corrupt(SegmentReader reader, long offset, String found) {
    return JournalException.corrupt(topic, partition, offset, reader.position(), reader.path, found);
  }

  SegmentReader open(SegmentName segment) throws IOException {
    return new SegmentReader(disk, path(segment));
  }

  JournalException outOfRange(long offset, long end) {
    return JournalException.outOfRange(topic, partition, offset, first(), end);
  }
}
