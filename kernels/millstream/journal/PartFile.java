package millstream.journal;

import java.io.IOException;
import org.apache.hadoop.fs.FileAlreadyExistsException;

/** A file that is written under a hidden name, synced, and given its own by one rename. */
final class PartFile extends Disk.Whole {
  private final Disk disk;
  private final String part;
  private final String path;
  private final boolean fresh;
  private final Disk.Output out;
  private final byte[] buffer = new byte[1 << 16];
  private int filled;
  private boolean over;

  PartFile(Disk disk, String part, String path, boolean fresh, Disk.Output out) {
    this.disk = disk;
    this.part = part;
    this.path = path;
    this.fresh = fresh;
    this.out = out;
  }

  @Override
  public void write(int one) throws IOException {
    write(new byte[] {(byte) one}, 0, 1);
  }

  @Override
  public void write(byte[] bytes, int offset, int length) throws IOException {
    if (length > buffer.length - filled) {
      drain();
    }
    if (length > buffer.length) {
      out.write(bytes, offset, length);
    } else {
      System.arraycopy(bytes, offset, buffer, filled, length);
      filled += length;
    }
  }

  private void drain() throws IOException {
    out.write(buffer, 0, filled);
    filled = 0;
  }

  @Override
  public void close() throws IOException {
    if (over) {
      return;
    }
    over = true;
    try {
      drain();
      out.sync();
      out.close();
      if (fresh) {
        disk.rename(part, path);
      } else {
        disk.replace(part, path);
      }
    } catch (FileAlreadyExistsException e) {
      discard();
      throw new FileAlreadyExistsException(path + " exists already");
    } catch (IOException | RuntimeException e) {
      discard();
      throw e;
    }
    disk.syncFolder(Disk.folderOf(path));
  }

  @Override
  public void cancel() throws IOException {
    if (!over) {
      over = true;
      discard();
    }
  }

  private void discard() throws IOException {
    out.close();
    disk.delete(part);
  }
}
