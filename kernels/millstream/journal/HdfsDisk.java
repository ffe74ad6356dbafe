package millstream.journal;

import java.io.IOException;
import java.time.Duration;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.Options.Rename;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.hdfs.DistributedFileSystem;
import org.apache.hadoop.hdfs.client.HdfsDataInputStream;
import org.apache.hadoop.hdfs.protocol.HdfsFileStatus;

/** HDFS: the name node renames in one step, and says whether the name was free. */
final class HdfsDisk extends HadoopDisk {
  private static final Duration LIST_EVERY = Duration.ofMillis(100);

  private static final Duration FLUSH_EVERY = Duration.ofMillis(20);

  private final DistributedFileSystem files;

  HdfsDisk(DistributedFileSystem files) {
    super(files);
    this.files = files;
  }

  @Override
  public Duration listEvery() {
    return LIST_EVERY;
  }

  @Override
  public Duration flushEvery() {
    return FLUSH_EVERY;
  }

  @Override
  public boolean renames() {
    return true;
  }

  @Override
  public void makeFolder(String folder) throws IOException {
    files.mkdirs(new Path(folder));
  }

  /** Up to what can be read now: the name node does not know how long a file is that is being written. */
  @Override
  public Input open(String path) throws IOException {
    HdfsDataInputStream in = (HdfsDataInputStream) files.open(new Path(path));
    return new HadoopInput(in, in.getVisibleLength());
  }

  @Override
  public String identity(String path) throws IOException {
    return Long.toString(((HdfsFileStatus) files.getFileStatus(new Path(path))).getFileId());
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
  public Whole whole(String path, boolean fresh) throws IOException {
    String part = Disk.partOf(path);
    return new PartFile(this, part, path, fresh, create(part));
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
