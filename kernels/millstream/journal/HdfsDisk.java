package millstream.journal;

import java.io.IOException;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileAlreadyExistsException;
import org.apache.hadoop.fs.Options.Rename;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.hdfs.DistributedFileSystem;

/** HDFS: the name node renames in one step, and says whether the name was free. */
final class HdfsDisk extends HadoopDisk {
  private final DistributedFileSystem files;

  HdfsDisk(DistributedFileSystem files) {
    super(files);
    this.files = files;
  }

  @Override
  public void makeFolder(String folder) throws IOException {
    files.mkdirs(new Path(folder));
  }

  @Override
  public Output create(String path) throws IOException {
    return new HdfsOutput(files.create(new Path(path), false));
  }

  @Override
  public void rename(String from, String to) throws IOException {
    rename(from, to, Rename.NONE);
  }

  @Override
  public void replace(String from, String to) throws IOException {
    rename(from, to, Rename.OVERWRITE);
  }

  @SuppressWarnings("deprecation") // Hadoop offers no other call that is exclusive
  private void rename(String from, String to, Rename how) throws IOException {
    files.rename(new Path(from), new Path(to), how);
  }

  /** A file that is created in its place would be there, empty, if the writer died. */
  @Override
  public boolean createNew(String path, byte[] bytes) throws IOException {
    String part = written(path, bytes);
    try {
      rename(part, path);
      return true;
    } catch (FileAlreadyExistsException e) {
      delete(part);
      return false;
    }
  }

  @Override
  public void writeAtomically(String path, byte[] bytes) throws IOException {
    replace(written(path, bytes), path);
  }

  private String written(String path, byte[] bytes) throws IOException {
    String part = Disk.partOf(path);
    try (Output out = create(part)) {
      out.write(bytes, 0, bytes.length);
      out.sync();
    }
    return part;
  }

  @Override
  public void truncate(String path, long length) throws IOException {
    files.truncate(new Path(path), length);
  }

  private static final class HdfsOutput implements Output {
    private final FSDataOutputStream out;

    HdfsOutput(FSDataOutputStream out) {
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
