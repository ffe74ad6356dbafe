package millstream.journal;

import java.io.Closeable;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.zip.CRC32;

/** Reads the frames of one segment through a buffer. Says what it met; what that means, its caller knows. */
final class SegmentReader implements Closeable {
  /** What {@link #next} met. */
  enum Met {
    RECORD,
    /** In a compacted segment: no record, but offsets without one, {@link #gap} of them. */
    GAP,
    /** The end of the file as it is now, after a whole frame. */
    END,
    /** A frame that reaches the end of the file and is incomplete or fails its CRC. */
    TORN,
    /** A bad frame with more bytes behind it. */
    BAD
  }

  static final byte[] MAGIC = "MSJ1".getBytes(StandardCharsets.US_ASCII);
  /** What a compacted segment begins with. */
  static final byte[] WITH_GAPS = "MSJ2".getBytes(StandardCharsets.US_ASCII);

  /** In place of the length of a key: so many offsets without a record as the timestamp says. */
  static final int GAP = -2;

  static final int HEADER = 16;
  static final int FRAME = 8;
  static final int LONGEST_BODY = 64 << 20;
  static final int SHORTEST_BODY = 18;
  private static final int BUFFER = 64 << 10;

  final String path;
  private final Disk.Input in;
  private final CRC32 crc = new CRC32();
  private byte[] buffer = new byte[BUFFER];
  private ByteBuffer view = ByteBuffer.wrap(buffer);
  /** The buffer holds the file's bytes from {@code start} on, up to {@code filled} of them. */
  private long start;

  private int filled;
  /** Within the buffer: where the next frame begins. */
  private int cursor;

  private int body;
  private int bodyLength;
  private long created = -1;
  private boolean gaps;

  /** {@code size}: how long it is, and stays; -1 if that is not known. */
  SegmentReader(Disk disk, String path, long size) throws IOException {
    this.path = path;
    this.in = size < 0 ? disk.open(path) : disk.open(path, size);
  }

  /** When the segment was created; -1 while its header is not written yet. */
  long created() throws IOException {
    if (created < 0) {
      if (start != 0 || cursor != 0) {
        throw new IllegalStateException("the header is read first");
      }
      if (!fill(HEADER)) {
        return -1;
      }
      gaps = Arrays.equals(buffer, 0, 4, WITH_GAPS, 0, 4);
      if (!gaps && !Arrays.equals(buffer, 0, 4, MAGIC, 0, 4)) {
        throw JournalException.unknownFormat(path, "header " + view.getInt(0) + ", \"MSJ1\" expected");
      }
      created = view.getLong(4);
      cursor = HEADER;
    }
    return created;
  }

  /** The byte position of the next frame. */
  long position() {
    return start + cursor;
  }

  void seek(long position) {
    start = position;
    cursor = 0;
    filled = 0;
  }

  Met next() throws IOException {
    Met met = parse();
    if (met == Met.TORN || met == Met.BAD) {
      // The buffer may hold bytes that a writer has cut off since: only what is on the disk now counts.
      seek(position());
      met = met == Met.BAD ? parse() : met;
    }
    return met;
  }

  private Met parse() throws IOException {
    if (created() < 0) {
      return filled == 0 ? Met.END : Met.TORN;
    }
    if (!fill(FRAME)) {
      return filled == cursor ? Met.END : Met.TORN;
    }
    long length = view.getInt(cursor) & 0xFFFFFFFFL;
    if (length < SHORTEST_BODY || length > LONGEST_BODY) {
      return position() + FRAME + length >= in.size() ? Met.TORN : Met.BAD;
    }
    int frame = FRAME + (int) length;
    if (!fill(frame)) {
      return Met.TORN;
    }
    crc.reset();
    crc.update(buffer, cursor + FRAME, (int) length);
    if ((int) crc.getValue() != view.getInt(cursor + 4)) {
      return position() + frame >= in.size() ? Met.TORN : Met.BAD;
    }
    body = cursor + FRAME;
    bodyLength = (int) length;
    cursor += frame;
    return gaps && view.getInt(body + 8) == GAP ? Met.GAP : Met.RECORD;
  }

  /** After {@link Met#GAP}: how many offsets have no record. */
  long gap() {
    return view.getLong(body);
  }

  /** Makes {@code count} bytes from the cursor on available; false if the file ends before. */
  private boolean fill(int count) throws IOException {
    if (filled - cursor >= count) {
      return true;
    }
    System.arraycopy(buffer, cursor, buffer, 0, filled - cursor);
    start += cursor;
    filled -= cursor;
    cursor = 0;
    if (count > buffer.length) {
      buffer = Arrays.copyOf(buffer, Math.max(count, Math.min(buffer.length * 2, LONGEST_BODY)));
      view = ByteBuffer.wrap(buffer);
    }
    while (filled < count) {
      int got = in.read(start + filled, buffer, filled, buffer.length - filled);
      if (got <= 0) {
        return false;
      }
      filled += got;
    }
    return true;
  }

  /** The bytes of the last record's body: valid until the next call. */
  byte[] buffer() {
    return buffer;
  }

  ByteBuffer view() {
    return view;
  }

  int body() {
    return body;
  }

  int bodyLength() {
    return bodyLength;
  }

  @Override
  public void close() throws IOException {
    in.close();
  }
}
