package millstream.journal;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileContext;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Options;
import org.apache.hadoop.fs.Path;

/** Any Hadoop file system. Rename must be atomic there. */
final class HadoopDisk implements Disk {
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
  public void makeFolder(String folder) throws IOException {
    files.mkdirs(new Path(folder));
  }

  @Override
  public Input open(String path) throws IOException {
    return new HadoopInput(files, new Path(path));
  }

  @Override
  public Output create(String path) throws IOException {
    return new HadoopOutput(files.create(new Path(path), false));
  }

  @Override
  public void rename(String from, String to) throws IOException {
    if (exists(to) || !files.rename(new Path(from), new Path(to))) {
      throw new IOException("cannot rename " + from + " to " + to);
    }
  }

  @Override
  public void replace(String from, String to) throws IOException {
    FileContext.getFileContext(files.getUri(), files.getConf()).rename(new Path(from), new Path(to), Options.Rename.OVERWRITE);
  }

  @Override
  public void delete(String path) throws IOException {
    files.delete(new Path(path), false);
  }

  @Override
  public void truncate(String path, long length) throws IOException {
    files.truncate(new Path(path), length);
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

  private static final class HadoopOutput implements Output {
    private final FSDataOutputStream out;

    HadoopOutput(FSDataOutputStream out) {
      this.out = out;
    }

    @Override
    public void write(byte[] bytes, int offset, int length) throws IOException {
      out.write(bytes, offset, length);
    }

    @Override
    public void flush() throws IOException {
      out.hflush();
    }

    @Override
    public void sync() throws IOException {
      out.hsync();
    }

    @Override
    public void close() throws IOException {
      out.close();
    }
  }
}
