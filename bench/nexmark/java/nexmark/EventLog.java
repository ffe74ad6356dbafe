package nexmark;

import java.io.Closeable;
import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.LongBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;

/** The file of events, read block by block. */
public final class EventLog implements Closeable {
  private final FileChannel data;
  private final LongBuffer starts;

  public EventLog(String folder) throws IOException {
    starts = ByteBuffer.wrap(Files.readAllBytes(Path.of(folder, "events.idx")))
        .order(ByteOrder.LITTLE_ENDIAN)
        .asLongBuffer();
    data = FileChannel.open(Path.of(folder, "events.dat"));
  }

  public static long events(String folder) {
    try {
      return (Files.size(Path.of(folder, "events.idx")) / 8 - 1) * Block.EVENTS;
    } catch (IOException error) {
      throw new java.io.UncheckedIOException(error);
    }
  }

  /** In an array of its own: texts of its rows may point into it. */
  public Block block(int number) throws IOException {
    long start = starts.get(number);
    ByteBuffer bytes = ByteBuffer.allocate((int) (starts.get(number + 1) - start));
    while (bytes.hasRemaining()) {
      if (data.read(bytes, start + bytes.position()) < 0) {
        throw new EOFException("block " + number);
      }
    }
    return new Block(bytes.array());
  }

  @Override
  public void close() throws IOException {
    data.close();
  }
}
