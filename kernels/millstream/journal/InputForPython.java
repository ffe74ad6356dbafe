package millstream.journal;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.util.Arrays;

/** A file that the driver's Python code reads. One that may grow is opened again when its end is reached. */
public final class InputForPython {
  private static final long LOOK_NANOS = 20_000_000;

  private final Disk disk;
  private final String path;
  private boolean grows;
  private String identity;
  private Disk.Input in;
  private long opened = System.nanoTime();

  /** {@code size}: how long it is, and stays; -1 if it may grow. */
  InputForPython(Disk disk, String path, long size) throws IOException {
    this.disk = disk;
    this.path = path;
    this.grows = size < 0;
    this.in = grows ? disk.open(path) : disk.open(path, size);
    // It may lose its name soon.
    this.identity = grows ? disk.identity(path) : null;
  }

  /** Fewer bytes only at the end of the file. */
  public byte[] read(long position, int length) throws IOException {
    if (grows && position >= in.size() && System.nanoTime() - opened > LOOK_NANOS) {
      reopen();
    }
    byte[] bytes = new byte[length];
    int filled = 0;
    for (int count = 0; count >= 0 && filled < length; filled += Math.max(0, count)) {
      count = in.read(position + filled, bytes, filled, length - filled);
    }
    return filled == length ? bytes : Arrays.copyOf(bytes, filled);
  }

  private void reopen() throws IOException {
    try {
      Disk.Input again = disk.open(path);
      in.close();
      in = again;
      opened = System.nanoTime();
    } catch (FileNotFoundException e) {
      // It was published, or thrown away: what is there of it has another name, or none.
      grows = false;
    }
  }

  public long size() throws IOException {
    return in.size();
  }

  public String identity() throws IOException {
    if (identity == null) {
      identity = disk.identity(path);
    }
    return identity;
  }

  public void close() throws IOException {
    in.close();
  }
}
