package millstream.journal;

import java.io.Closeable;
import java.io.FileNotFoundException;
import java.io.IOException;

/** Reads a partition's records from an offset on, from segment to segment, and follows it as it grows. */
final class LogReader implements Closeable {
  /** Bytes between two places that are remembered within a long segment. */
  private static final long REMEMBER_EVERY = 8L << 20;

  private final PartitionLog log;
  private SegmentName segment;
  private SegmentReader reader;
  private long offset;
  private long remembered;

  LogReader(PartitionLog log, long from) {
    this.log = log;
    this.offset = from;
  }

  /** The offset of the next record. */
  long offset() {
    return offset;
  }

  /** The segment that the last record is in: valid after {@link #next} gave true. */
  SegmentReader record() {
    return reader;
  }

  /** Goes to the next record; false if there is none now in the segments that were last listed. */
  boolean next() throws IOException {
    try {
      return advance();
    } catch (FileNotFoundException gone) {
      // It was merged with others since it was listed.
      SegmentName lost = segment;
      close();
      log.refresh();
      if (lost.equals(log.holding(offset))) {
        throw gone;
      }
      return advance();
    }
  }

  private boolean advance() throws IOException {
    while (reader != null || start()) {
      SegmentReader.Met met = reader.next();
      if (met == SegmentReader.Met.RECORD) {
        return step();
      }
      if (met == SegmentReader.Met.GAP) {
        offset += reader.gap();
        continue;
      }
      SegmentName next = log.after(segment, offset);
      if (next == null) {
        log.checkEnd(met, segment, reader, offset);
        return false;
      }
      // Records may have come after the first look and before the next segment: look again, now that it is there.
      met = reader.next();
      if (met == SegmentReader.Met.RECORD) {
        return step();
      }
      log.checkEnd(met, segment, reader, offset);
      enter(next);
    }
    return false;
  }

  private boolean step() throws IOException {
    offset++;
    if (reader.position() - remembered > REMEMBER_EVERY) {
      remembered = reader.position();
      log.remember(reader, offset);
    }
    return true;
  }

  JournalException corrupt(String found) {
    return log.corrupt(reader, offset - 1, found);
  }

  /** Finds the first record to read; false while no segment holds it. */
  private boolean start() throws IOException {
    SegmentName holding = log.holding(offset);
    if (holding == null) {
      if (!log.segments().isEmpty()) {
        throw log.outOfRange(offset, log.end());
      }
      return false;
    }
    enter(holding);
    return true;
  }

  /** Opens a segment at the record to read next, which need not be its first; behind it, if that is gone. */
  private void enter(SegmentName next) throws IOException {
    close();
    segment = next;
    SegmentReader opened = log.open(next);
    try {
      skip(opened);
    } catch (IOException | RuntimeException error) {
      opened.close();
      throw error;
    }
    reader = opened;
  }

  private void skip(SegmentReader opened) throws IOException {
    long at = segment.base() == offset ? offset : log.seek(opened, segment, offset);
    while (at < offset) {
      SegmentReader.Met met = opened.next();
      if (met != SegmentReader.Met.RECORD && met != SegmentReader.Met.GAP) {
        log.checkEnd(met, segment, opened, at);
        throw log.outOfRange(offset, at);
      }
      at += met == SegmentReader.Met.GAP ? opened.gap() : 1;
    }
    offset = at;
  }

  @Override
  public void close() throws IOException {
    if (reader != null) {
      log.remember(reader, offset);
      reader.close();
      reader = null;
    }
  }
}
