package millstream.journal;

import java.io.Closeable;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.zip.CRC32;

/** Writes one segment: frames are gathered in a buffer and handed to the disk whole. */
public final class SegmentWriter implements Closeable {
  private static final int BUFFER = 64 << 10;

  private final Disk.Output out;
  private final CRC32 crc = new CRC32();
  private ByteBuffer buffer = ByteBuffer.allocate(BUFFER);
  private long records;
  private long bytes;

  public SegmentWriter(Disk disk, String path, long now) throws IOException {
    out = disk.create(path);
    buffer.put(SegmentReader.MAGIC).putLong(now).putInt(0);
  }

  /** Appends a record without headers. Key and value may be null. */
  public void append(long timestamp, byte[] key, byte[] value) throws IOException {
    long length = SegmentReader.SHORTEST_BODY + length(key) + length(value);
    if (length > SegmentReader.LONGEST_BODY) {
      throw new IOException("MS-JOURNAL-008: a record of " + length + " bytes is too large for the journal (64 MiB).");
    }
    reserve(SegmentReader.FRAME + (int) length);
    int frame = buffer.position();
    buffer.putInt((int) length).putInt(0).putLong(timestamp);
    put(key);
    put(value);
    buffer.putShort((short) 0);
    crc.reset();
    crc.update(buffer.array(), frame + SegmentReader.FRAME, (int) length);
    buffer.putInt(frame + 4, (int) crc.getValue());
    records++;
  }

  /** A frame in place of so many records, for a compacted segment. */
  static byte[] gap(long offsets) {
    ByteBuffer frame = ByteBuffer.allocate(SegmentReader.FRAME + SegmentReader.SHORTEST_BODY);
    frame.putInt(SegmentReader.SHORTEST_BODY).putInt(0);
    frame.putLong(offsets).putInt(SegmentReader.GAP).putInt(-1).putShort((short) 0);
    CRC32 crc = new CRC32();
    crc.update(frame.array(), SegmentReader.FRAME, SegmentReader.SHORTEST_BODY);
    return frame.putInt(4, (int) crc.getValue()).array();
  }

  private static long length(byte[] bytes) {
    return bytes == null ? 0 : bytes.length;
  }

  private void put(byte[] bytes) {
    if (bytes == null) {
      buffer.putInt(-1);
    } else {
      buffer.putInt(bytes.length).put(bytes);
    }
  }

  private void reserve(int count) throws IOException {
    if (buffer.remaining() >= count) {
      return;
    }
    drain();
    if (buffer.remaining() < count) {
      buffer = ByteBuffer.allocate(count);
    }
  }

  private void drain() throws IOException {
    out.write(buffer.array(), 0, buffer.position());
    bytes += buffer.position();
    buffer.clear();
  }

  /** Lets readers see what was appended. */
  public void flush() throws IOException {
    drain();
    out.flush();
  }

  public void sync() throws IOException {
    drain();
    out.sync();
  }

  public long records() {
    return records;
  }

  /** How long the segment is: valid when it was synced. */
  public long bytes() {
    return bytes;
  }

  /** It is no longer needed. What is left of it is to be deleted. */
  public void abort() throws IOException {
    out.abort();
  }

  @Override
  public void close() throws IOException {
    out.close();
  }
}
