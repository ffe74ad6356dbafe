package millstream.journal;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;

/** What HDFS and object stores have in common. */
abstract class HadoopDisk implements Disk {
  private final FileSystem files;

  HadoopDisk(FileSystem files) {
    this.files = files;
  }

  @Override
  public List<Entry> entries(String folder) throws IOException {
    List<Entry> found = new ArrayList<>();
    try {
      for (FileStatus status : files.listStatus(new Path(folder))) {
        found.add(
            new Entry(status.getPath().getName(), status.getLen(), status.getModificationTime(), status.isDirectory()));
      }
    } catch (FileNotFoundException e) {
      return found;
    }
    return found;
  }

  @Override
  public long stamp(String folder) {
    return -1;
  }

  @Override
  public boolean exists(String path) throws IOException {
    return files.exists(new Path(path));
  }

  @Override
  public Input open(String path) throws IOException {
    Path file = new Path(path);
    return new HadoopInput(files.open(file), files.getFileStatus(file).getLen());
  }

  @Override
  public void delete(String path) throws IOException {
    files.delete(new Path(path), false);
  }

  @Override
  public void deleteAll(String path) throws IOException {
    files.delete(new Path(path), true);
  }

  @Override
  public void truncate(String path, long length) {
    throw new UnsupportedOperationException("only a local disk has files that a crash left torn: " + path);
  }

  @Override
  public void syncFolder(String folder) {}

  @Override
  public byte[] readAll(String path) throws IOException {
    try (FSDataInputStream in = files.open(new Path(path))) {
      return in.readAllBytes();
    }
  }

  @Override
  public boolean isLocal() {
    return false;
  }

  /** What lies here was written whole: it does not grow. */
  static final class HadoopInput implements Input {
    private final FSDataInputStream in;
    private final long size;

    HadoopInput(FSDataInputStream in, long size) {
      this.in = in;
      this.size = size;
    }

    @Override
    public int read(long position, byte[] into, int offset, int length) throws IOException {
      return position >= size ? -1 : in.read(position, into, offset, length);
    }

    @Override
    public long size() {
      return size;
    }

    @Override
    public void close() throws IOException {
      in.close();
    }
  }
}
