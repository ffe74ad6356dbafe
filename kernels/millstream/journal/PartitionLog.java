package millstream.journal;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;

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
  private final Map<SegmentName, Long> counted = new HashMap<>();
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
    List<SegmentName> found = listed();
    found.sort(null);
    with(found);
    stamp = changed;
    listedAt = now;
  }

  private List<SegmentName> listed() throws IOException {
    List<SegmentName> found = new ArrayList<>();
    if (disk.isLocal()) {
      for (String file : disk.list(folder)) {
        add(found, SegmentName.of(file));
      }
    } else {
      for (Disk.Entry entry : disk.entries(folder)) {
        add(found, SegmentName.of(entry.name(), entry.size()));
      }
    }
    return found;
  }

  private static void add(List<SegmentName> found, SegmentName name) {
    if (name != null) {
      found.add(name);
    }
  }

  /** What there is, in the order of the log: who was told so need not list it first. */
  PartitionLog with(List<SegmentName> known) {
    segments = SegmentName.uncovered(known);
    lastByProducer =
        segments.stream().filter(SegmentName::byProducer).reduce((a, b) -> b).orElse(null);
    return this;
  }

  public List<SegmentName> segments() {
    return segments;
  }

  /** Those that hold the records from one offset up to another. */
  ArrayList<SegmentName> between(long from, long until) {
    ArrayList<SegmentName> found = new ArrayList<>();
    for (int i = 0; i < segments.size(); i++) {
      boolean before = i + 1 < segments.size() && segments.get(i + 1).base() <= from;
      if (!before && segments.get(i).base() < until) {
        found.add(segments.get(i));
      }
    }
    return found;
  }

  public String path(SegmentName segment) {
    return folder + "/" + segment.path();
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

  /**
   * The segment that goes on where this one has been read up to an offset; null if there is none. This one may be gone:
   * then its records, and perhaps the next ones, are in a merged one.
   */
  SegmentName after(SegmentName segment, long offset) {
    SegmentName found = null;
    for (int i = segments.size() - 1; i >= 0; i--) {
      SegmentName next = segments.get(i);
      boolean later = next.merged() ? next.end() > offset : next.compareTo(segment) > 0;
      if (!later) {
        break;
      }
      found = next.equals(segment) ? found : next;
    }
    return found;
  }

  /** A crash may leave a torn frame in the last segment that a producer wrote to a local disk, and nowhere else. */
  boolean mayBeTorn(SegmentName segment) {
    return disk.isLocal() && segment.equals(lastByProducer);
  }

  /** The offset that the next record will get: counts the last segment, from where it was counted before. */
  public long end() throws IOException {
    refresh();
    return listedEnd();
  }

  private long listedEnd() throws IOException {
    return segments.isEmpty() ? 0 : count(segments.get(segments.size() - 1), false);
  }

  /** As {@link #end}, for the one that holds the partition's lock: a torn frame is cut off. */
  public long endAfterRepair() throws IOException {
    refresh();
    if (!repaired && lastByProducer != null && disk.isLocal()) {
      count(lastByProducer, true);
    }
    repaired = true;
    return end();
  }

  private long count(SegmentName segment, boolean cut) throws IOException {
    if (segment.records() >= 0) {
      return segment.base() + segment.records();
    }
    Long known = counted.get(segment);
    if (known != null) {
      return known;
    }
    try (SegmentReader reader = open(segment)) {
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
      if (segment.size() >= 0) {
        // The last one, or the one before: who asks for the end of a log does so again and again.
        if (counted.size() > 1) {
          counted.clear();
        }
        counted.put(segment, offset);
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

  /**
   * Publishes a file of an epoch as the next segment, in one step. False if it was published before.
   *
   * @throws FileNotFoundException if the file is not there
   */
  public boolean publish(SegmentName.Open open, long records, long bytes) throws IOException {
    if (holds(open.token())) {
      return false;
    }
    // Only a local disk has something to repair; elsewhere, to list is to ask another machine.
    long base = disk.isLocal() ? endAfterRepair() : listedEnd();
    if (!disk.renames()) {
      // A name that no other file has: if it is taken, this file was put there earlier.
      disk.createNew(folder + "/" + SegmentName.naming(base, open, records, bytes), new byte[0]);
      return true;
    }
    String from = folder + "/" + open.path(true);
    if (!disk.exists(from)) {
      throw new FileNotFoundException(from);
    }
    String path = folder + "/" + SegmentName.published(base, open.token());
    disk.rename(from, path);
    try (SegmentReader reader = new SegmentReader(disk, path, bytes)) {
      // Spares counting: its records were counted when they were written.
      Positions.remember(path, reader.created(), base + records, bytes);
    }
    return true;
  }

  /** Makes what was published survive a power cut. */
  public void sync() throws IOException {
    disk.syncFolder(folder);
  }

  /** Deletes what a writer's attempts left of epochs up to this one, which is published: as far as it is in the way. */
  public void cleanUpTo(String writer, long epoch) throws IOException {
    deleteOpen(file -> file.writer().equals(writer) && file.epoch() <= epoch);
  }

  /** The last epoch that a sink has published here, as far as segments still tell it: merged ones do not. -1: none. */
  public long lastEpochOf(String writer) throws IOException {
    refresh();
    return segments().stream()
        .filter(segment -> segment.writtenBy(writer) && !segment.merged())
        .mapToLong(SegmentName::epoch)
        .max()
        .orElse(-1);
  }

  /** Before a run: deletes what earlier tenures left of a writer's epochs that do not count. */
  public void clean(String writer, long committed, long tenure) throws IOException {
    deleteOpen(file -> file.writer().equals(writer) && file.tenure() < tenure);
    if (!disk.renames()) {
      String epoch = folder + "/" + SegmentName.epochs(writer, committed + 1);
      for (String name : disk.list(epoch)) {
        if (SegmentName.Open.tenureOf(name) < tenure) {
          disk.delete(epoch + "/" + name);
        }
      }
    }
  }

  /** Deletes what a tenure's tasks wrote from an epoch on; where nothing is renamed, the next start does so. */
  public void discard(String writer, long from, long tenure) throws IOException {
    deleteOpen(file -> file.writer().equals(writer) && file.epoch() >= from && file.tenure() == tenure);
  }

  private void deleteOpen(Predicate<SegmentName.Open> which) throws IOException {
    if (!disk.renames()) {
      return;
    }
    for (String name : disk.list(folder + "/open")) {
      SegmentName.Open file = SegmentName.Open.of(name);
      if (file != null && which.test(file)) {
        disk.delete(folder + "/" + file.path(true));
      }
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
    SegmentName next = after(segment, offset);
    if (next != null && (next.merged() ? next.base() > offset : next.base() != offset)) {
      throw corrupt(reader, offset, "the segment ends here, and the next begins at offset " + next.base());
    }
  }

  JournalException corrupt(SegmentReader reader, long offset, String found) {
    return JournalException.corrupt(topic, partition, offset, reader.position(), reader.path, found);
  }

  SegmentReader open(SegmentName segment) throws IOException {
    return new SegmentReader(disk, path(segment), segment.size());
  }

  JournalException outOfRange(long offset, long end) {
    return JournalException.outOfRange(topic, partition, offset, first(), end);
  }
}
