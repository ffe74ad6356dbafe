package millstream.journal;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.fs.FileAlreadyExistsException;

/**
 * Brings the many small segments that a sink's epochs leave in a partition together into few.
 *
 * <pre>
 *   0 │ 3 │ 5 │ 9 │ …        one segment per epoch and task
 *   0 ─────────── 9 │ …      the merged one is there, whole and durable: readers take no notice of what it covers
 *   0 ─────────── 9 │ …      what it covers is deleted a while later, when nobody reads it any more
 * </pre>
 *
 * <p>Those of about the same size are merged, so that a record is copied a few times only, however long the log grows.
 */
public final class Merging {
  /** How many segments of about the same size are merged. */
  public static final int FEW = 32;
  /** Below each of these sizes, segments are of about the same size. Larger ones stay as they are. */
  private static final long[] SIZES = {64 << 10, 1 << 20, 16 << 20};

  private static final long LARGEST = 64 << 20;

  /** Refuses if another run has taken over, and tells whether the run is about to end. */
  public interface Leave {
    /** Where no other run can take over. */
    Leave ALWAYS = () -> true;

    boolean given() throws IOException;
  }

  /**
   * How long things stay as they are.
   *
   * @param settled before a segment is merged: until then, readers of uncommitted rows may look for it under its name
   * @param covered before a segment is deleted that was merged: until then, it may be read
   */
  public record Waits(Duration settled, Duration covered) {
    public static final Waits USUAL = new Waits(Duration.ofMinutes(2), Duration.ofMinutes(1));
    public static final Waits NONE = new Waits(Duration.ZERO, Duration.ZERO);
  }

  private final Disk disk;
  private final String folder;
  private final String writer;
  private final Waits waits;
  private final Leave leave;
  private final SegmentListing listing;

  private Merging(Topic topic, int partition, String writer, Waits waits, Leave leave) throws IOException {
    this.disk = topic.disk();
    this.folder = topic.folder(partition);
    this.writer = writer;
    this.waits = waits;
    this.leave = leave;
    this.listing = new SegmentListing(disk, folder);
  }

  /**
   * Looks at a partition once. Gives how many segments were merged.
   *
   * @param published the first epoch that is not known to be published in full
   */
  public static int look(Topic topic, int partition, String writer, long published, Waits waits, Leave leave)
      throws IOException {
    return new Merging(topic, partition, writer, waits, leave).look(published);
  }

  private int look(long published) throws IOException {
    listing.deleteCovered(waits.covered(), leave);
    List<SegmentName> log = listing.log();
    int merged = 0;
    for (List<SegmentName> stretch : stretches(log, published)) {
      merged += merge(stretch, log) ? stretch.size() : 0;
    }
    return merged;
  }

  /** What is to be merged: neighbours, of about the same size, and many. The last segment of the log stays. */
  private List<List<SegmentName>> stretches(List<SegmentName> log, long published) {
    List<List<SegmentName>> found = new ArrayList<>();
    for (int tier = 0; tier < SIZES.length && found.isEmpty(); tier++) {
      List<SegmentName> run = new ArrayList<>();
      for (int i = 0; i + 1 < log.size(); i++) {
        SegmentName segment = log.get(i);
        if (ready(segment, published) && segment.size() < SIZES[tier]) {
          run.add(segment);
        } else {
          split(run, tier, found);
          run.clear();
        }
      }
      split(run, tier, found);
    }
    return found;
  }

  private boolean ready(SegmentName segment, long published) {
    return segment.writtenBy(writer)
        && !segment.compacted()
        && (segment.merged() || segment.epoch() < published)
        && listing.older(segment, waits.settled());
  }

  private static void split(List<SegmentName> run, int tier, List<List<SegmentName>> found) {
    long least = tier == 0 ? 0 : SIZES[tier - 1];
    long alike = run.stream().filter(segment -> segment.size() >= least).count();
    if (alike < FEW) {
      return;
    }
    List<SegmentName> part = new ArrayList<>();
    long bytes = 0;
    for (SegmentName segment : run) {
      if (bytes + segment.size() > LARGEST) {
        add(part, found);
        part = new ArrayList<>();
        bytes = 0;
      }
      part.add(segment);
      bytes += segment.size();
    }
    add(part, found);
  }

  private static void add(List<SegmentName> part, List<List<SegmentName>> found) {
    if (part.size() > 1) {
      found.add(part);
    }
  }

  /** False: another process was first, or something is not as it should be, which its readers will report. */
  private boolean merge(List<SegmentName> parts, List<SegmentName> log) throws IOException {
    SegmentName last = parts.get(parts.size() - 1);
    long base = parts.get(0).base();
    long end = log.get(log.indexOf(last) + 1).base();
    if (!leave.given()) {
      return false;
    }
    Disk.Whole file = disk.whole(folder + "/" + SegmentName.merged(base, writer, end), true);
    try {
      if (copy(parts, file) != end - base || !leave.given()) {
        file.cancel();
        return false;
      }
      file.close();
      return true;
    } catch (FileAlreadyExistsException taken) {
      return false;
    } catch (IOException | RuntimeException error) {
      file.cancel();
      throw error;
    }
  }

  /** How many records there are up to the first that is not whole. */
  private long copy(List<SegmentName> parts, Disk.Whole file) throws IOException {
    long records = 0;
    for (SegmentName part : parts) {
      try (SegmentReader reader = new SegmentReader(disk, folder + "/" + part.path(), part.size())) {
        long created = reader.created();
        if (part == parts.get(0)) {
          file.write(ByteBuffer.allocate(SegmentReader.HEADER)
              .put(SegmentReader.MAGIC)
              .putLong(created)
              .array());
        }
        SegmentReader.Met met = reader.next();
        for (; met == SegmentReader.Met.RECORD; met = reader.next()) {
          file.write(reader.buffer(), reader.body() - SegmentReader.FRAME, SegmentReader.FRAME + reader.bodyLength());
          records++;
        }
        if (met != SegmentReader.Met.END) {
          return -1;
        }
      }
    }
    return records;
  }
}
