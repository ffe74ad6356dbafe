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
  public List<String> list(String folder) throws IOException {
    List<String> names = new ArrayList<>();
    try {
      for (FileStatus status : files.listStatus(new Path(folder))) {
        names.add(status.getPath().getName());
      }
    } catch (FileNotFoundException e) {
      return names;
    }
    return names;
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
    return new HadoopInput(files, new Path(path));
  }

  @Override
  public void delete(String path) throws IOException {
    files.delete(new Path(path), false);
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

  /** A stream keeps the length that the file had when it was opened: opened anew when it is at its end. */
  private static final class HadoopInput implements Input {
    private final FileSystem files;
    private final Path path;
    private FSDataInputStream in;
    private long size;

    HadoopInput(FileSystem files, Path path) throws IOException {
      this.files = files;
      this.path = path;
      this.in = files.open(path);
      this.size = files.getFileStatus(path).getLen();
    }

    @Override
    public int read(long position, byte[] into, int offset, int length) throws IOException {
      int count = in.read(position, into, offset, length);
      if (count < 0 && files.getFileStatus(path).getLen() > size) {
        size = files.getFileStatus(path).getLen();
        in.close();
        in = files.open(path);
        count = in.read(position, into, offset, length);
      }
      return count;
    }

    @Override
    public long size() throws IOException {
      return files.getFileStatus(path).getLen();
    }

    @Override
    public void close() throws IOException {
      in.close();
    }
  }
}
