package millstream.journal;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

/** Deletes what a topic is not to keep: whole segments, from the beginning of a partition. The last one stays. */
public final class Retention {
  private Retention() {}

  /**
   * What is kept, at least: how old records may be, in milliseconds, and how many bytes of a partition; without a
   * limit, the largest number.
   *
   * @param tombstones of a topic that is compacted, for how many milliseconds a deletion stays; of others, the largest
   *     number
   */
  public record Keep(long millis, long bytes, long tombstones) {
    public static final Keep ALL = new Keep(Long.MAX_VALUE, Long.MAX_VALUE);

    public Keep(long millis, long bytes) {
      this(millis, bytes, Long.MAX_VALUE);
    }

    public boolean limited() {
      return millis != Long.MAX_VALUE || bytes != Long.MAX_VALUE;
    }

    public boolean compacted() {
      return tombstones != Long.MAX_VALUE;
    }
  }

  /**
   * Looks at a partition once. Gives how many segments were deleted.
   *
   * @param published the first epoch of the writer that is not known to be published in full: its segments are looked
   *     for by their tokens, and stay
   */
  public static int look(Topic topic, int partition, String writer, long published, Merging.Leave leave)
      throws IOException {
    Disk disk = topic.disk();
    String folder = topic.folder(partition);
    List<SegmentName> all = new ArrayList<>();
    for (Disk.Entry entry : disk.entries(folder)) {
      SegmentName name = SegmentName.of(entry.name(), entry.size());
      if (name != null) {
        all.add(name);
      }
    }
    all.sort(null);
    List<SegmentName> log = SegmentName.uncovered(all);
    long bytes = log.stream().mapToLong(SegmentName::size).sum();
    int gone = 0;
    for (; gone + 1 < log.size(); gone++) {
      SegmentName first = log.get(gone);
      SegmentName next = log.get(gone + 1);
      boolean needed = first.writtenBy(writer) && !first.merged() && first.epoch() >= published;
      boolean over = bytes > topic.keep().bytes() || isOld(topic, folder, next);
      if (needed || !over || !leave.given()) {
        break;
      }
      delete(disk, folder, first, next, all);
      bytes -= first.size();
    }
    return gone;
  }

  /** Whether whatever lies before this segment is too old: it was begun when they were ended. */
  private static boolean isOld(Topic topic, String folder, SegmentName segment) throws IOException {
    if (topic.keep().millis() == Long.MAX_VALUE) {
      return false;
    }
    try (SegmentReader reader = new SegmentReader(topic.disk(), folder + "/" + segment.path(), segment.size())) {
      long created = reader.created();
      return created >= 0 && System.currentTimeMillis() - created > topic.keep().millis();
    }
  }

  /** What a merged segment covers goes first: without it, these would be part of the log again. */
  private static void delete(Disk disk, String folder, SegmentName first, SegmentName next, List<SegmentName> all)
      throws IOException {
    for (SegmentName covered : all) {
      if (covered != first && covered.base() < next.base()) {
        delete(disk, folder, covered);
      }
    }
    delete(disk, folder, first);
  }

  /** An object that nothing names would stay for ever: what names it comes last. */
  private static void delete(Disk disk, String folder, SegmentName segment) throws IOException {
    disk.delete(folder + "/" + segment.path());
    disk.delete(folder + "/" + segment.file());
  }
}
