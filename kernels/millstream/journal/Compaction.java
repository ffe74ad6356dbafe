package millstream.journal;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.fs.FileAlreadyExistsException;

/**
 * Keeps of each key only the newest record, under its offset: enough for a topic that holds a table.
 *
 * <pre>
 *   a=1 │ b=1 a=2 │ c=1 b=2 │ …          one segment per epoch and task
 *   ─── 0 ── 2: a=2 3: c=1 4: b=2 │ …    the compacted one stands for them, with gaps where records are gone
 * </pre>
 *
 * <p>It is written whole, as a merged one is, and what it holds is deleted a while later: a crash leaves nothing to
 * repair. A record is copied when as much was written as was compacted before, so a few times only.
 */
public final class Compaction {
  private static final long LARGEST = 64 << 20;
  /** So many bytes are worth a look, or so many segments as are worth merging. */
  private static final long MUCH = 1 << 20;
  /** About so many different keys are known at a time. More segments have to wait for another look. */
  private static final int KEYS = 1_000_000;

  /** A segment, and which of its offsets count: the first ones may be in the one before it. */
  private record Part(SegmentName segment, long begin, long end) {}

  private final Topic topic;
  private final String folder;
  private final String writer;
  private final Merging.Leave leave;
  /** Of each key that was written since the last compaction. */
  private final Map<ByteBuffer, Long> newest = new HashMap<>();
  /** Tombstones before this time go. */
  private long oldestKept = Long.MIN_VALUE;

  private long gone;

  private Compaction(Topic topic, int partition, String writer, Merging.Leave leave) {
    this.topic = topic;
    this.folder = topic.folder(partition);
    this.writer = writer;
    this.leave = leave;
  }

  /**
   * Looks at a partition once. Gives how many records are gone.
   *
   * @param published the first epoch of the writer that is not known to be published in full
   */
  public static long look(
      Topic topic, int partition, String writer, long published, Merging.Waits waits, Merging.Leave leave)
      throws IOException {
    Compaction one = new Compaction(topic, partition, writer, leave);
    SegmentListing listing = new SegmentListing(topic.disk(), one.folder);
    listing.deleteCovered(waits.covered(), leave);
    List<Part> stretch = one.stretch(listing, published, waits);
    if (!stretch.isEmpty() && worthIt(stretch)) {
      one.compact(stretch, listing.log());
    }
    return one.gone;
  }

  /** The first neighbours that can be compacted and were not. */
  private List<Part> stretch(SegmentListing listing, long published, Merging.Waits waits) {
    List<SegmentName> log = listing.log();
    List<Part> found = new ArrayList<>();
    boolean fresh = false;
    // The last segment of the log stays as it is.
    for (int i = 0; i + 1 < log.size(); i++) {
      SegmentName segment = log.get(i);
      if (can(segment, listing, published, waits)) {
        long begin =
            found.isEmpty() ? segment.base() : found.get(found.size() - 1).end();
        long end = segment.records() < 0 ? log.get(i + 1).base() : segment.end();
        found.add(new Part(segment, begin, end));
        fresh |= !segment.compacted();
      } else if (fresh) {
        return found;
      } else {
        found.clear();
      }
    }
    return fresh ? found : List.of();
  }

  /** Of sinks, those of epochs that nobody looks for by their tokens any more. */
  private boolean can(SegmentName segment, SegmentListing listing, long published, Merging.Waits waits) {
    return segment.byProducer()
        || segment.merged()
        || segment.writtenBy(writer) && segment.epoch() < published && listing.older(segment, waits.settled());
  }

  private static boolean worthIt(List<Part> stretch) {
    long fresh = 0;
    long compacted = 0;
    int many = 0;
    for (Part part : stretch) {
      if (part.segment().compacted()) {
        compacted += part.segment().size();
      } else {
        fresh += part.segment().size();
        many++;
      }
    }
    return fresh >= compacted && (many >= Merging.FEW || fresh >= MUCH);
  }

  private void compact(List<Part> stretch, List<SegmentName> log) throws IOException {
    long generation = 1
        + stretch.stream().mapToLong(part -> part.segment().generation()).max().orElse(0);
    long until = learn(stretch);
    if (stretch.get(0).segment() == log.get(0)) {
      // Nothing that a tombstone deletes lies before.
      oldestKept = System.currentTimeMillis() - topic.keep().tombstones();
    }
    List<Part> piece = new ArrayList<>();
    long bytes = 0;
    for (Part part : stretch) {
      boolean full = !piece.isEmpty() && (bytes + part.segment().size() > LARGEST || part.begin() >= until);
      // In their order: no tombstone goes before what it deletes.
      if (full && !write(piece, generation)) {
        return;
      }
      if (full) {
        piece.clear();
        bytes = 0;
      }
      if (part.begin() < until) {
        piece.add(part);
        bytes += part.segment().size();
      }
    }
    if (!piece.isEmpty()) {
      write(piece, generation);
    }
  }

  /** Finds the newest record of each key in what was not compacted yet; gives the offset up to which it did. */
  private long learn(List<Part> stretch) throws IOException {
    long until = stretch.get(0).begin();
    boolean fresh = false;
    for (Part part : stretch) {
      fresh |= !part.segment().compacted();
      if (newest.size() > KEYS) {
        break;
      }
      if (fresh && !read(part, this::learn)) {
        return stretch.get(0).begin();
      }
      until = part.end();
    }
    return until;
  }

  private void learn(SegmentReader record, long offset) {
    ByteBuffer key = key(record);
    if (key != null) {
      newest.put(key, offset);
    }
  }

  private static ByteBuffer key(SegmentReader record) {
    int length = record.view().getInt(record.body() + 8);
    int from = record.body() + 12;
    return length < 0 ? null : ByteBuffer.wrap(Arrays.copyOfRange(record.buffer(), from, from + length));
  }

  private boolean goes(SegmentReader record, long offset) {
    ByteBuffer key = key(record);
    if (key == null) {
      return false;
    }
    boolean deletes = record.view().getInt(record.body() + 12 + key.remaining()) < 0;
    return newest.getOrDefault(key, -1L) > offset || deletes && record.view().getLong(record.body()) < oldestKept;
  }

  private interface Act {
    void on(SegmentReader record, long offset) throws IOException;
  }

  /** False: something is not as it should be, which its readers will be told. */
  private boolean read(Part part, Act act) throws IOException {
    SegmentName segment = part.segment();
    try (SegmentReader reader = new SegmentReader(topic.disk(), folder + "/" + segment.path(), segment.size())) {
      long offset = segment.base();
      for (SegmentReader.Met met = reader.next(); ; met = reader.next()) {
        if (met == SegmentReader.Met.RECORD) {
          if (offset >= part.begin()) {
            act.on(reader, offset);
          }
          offset++;
        } else if (met == SegmentReader.Met.GAP) {
          offset += reader.gap();
        } else {
          return met == SegmentReader.Met.END && offset == part.end();
        }
      }
    }
  }

  /** False: somebody else was there first, or something is not as it should be. */
  private boolean write(List<Part> parts, long generation) throws IOException {
    long base = parts.get(0).begin();
    long end = parts.get(parts.size() - 1).end();
    if (!leave.given()) {
      return false;
    }
    Disk.Whole file = topic.disk().whole(folder + "/" + SegmentName.compacted(base, writer, end, generation), true);
    try {
      Copy copy = new Copy(file, base);
      if (!copy.all(parts) || !leave.given()) {
        file.cancel();
        return false;
      }
      copy.gap(end);
      file.close();
      gone += copy.dropped;
      return true;
    } catch (FileAlreadyExistsException taken) {
      return false;
    } catch (IOException | RuntimeException error) {
      file.cancel();
      throw error;
    }
  }

  /** What stays, on its way into another segment. */
  private final class Copy {
    private final Disk.Whole file;
    private long at;
    private long dropped;

    Copy(Disk.Whole file, long base) {
      this.file = file;
      this.at = base;
    }

    boolean all(List<Part> parts) throws IOException {
      SegmentName first = parts.get(0).segment();
      try (SegmentReader reader = new SegmentReader(topic.disk(), folder + "/" + first.path(), first.size())) {
        byte[] header = new byte[SegmentReader.HEADER];
        ByteBuffer.wrap(header).put(SegmentReader.WITH_GAPS).putLong(reader.created());
        file.write(header);
      }
      for (Part part : parts) {
        if (!read(part, this::one)) {
          return false;
        }
      }
      return true;
    }

    private void one(SegmentReader record, long offset) throws IOException {
      if (goes(record, offset)) {
        dropped++;
        return;
      }
      gap(offset);
      file.write(record.buffer(), record.body() - SegmentReader.FRAME, SegmentReader.FRAME + record.bodyLength());
      at = offset + 1;
    }

    void gap(long until) throws IOException {
      if (until > at) {
        file.write(SegmentWriter.gap(until - at));
      }
      at = until;
    }
  }
}
