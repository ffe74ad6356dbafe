package millstream.checkpoint;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.OutputStream;
import java.util.ArrayList;
import java.util.List;
import millstream.journal.Disk;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileAlreadyExistsException;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.PathFilter;
import org.apache.spark.sql.execution.streaming.checkpointing.CheckpointFileManager;
import org.apache.spark.sql.execution.streaming.checkpointing.CheckpointFileManager.CancellableFSDataOutputStream;
import org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager;

/**
 * Spark's files of a checkpoint on a disk: written under another name, synced, and put in their place by one rename,
 * which fails where they must be new.
 *
 * <p>Spark's own ways do not sync. On a local disk they go through Hadoop, which, without its native library, starts a
 * process (chmod, ls, readlink) for most calls: that was most of the pause between two epochs.
 */
public class DiskCheckpoints extends FileSystemBasedCheckpointFileManager {
  private static final long BLOCK = 32L << 20;

  protected final Disk disk;

  public DiskCheckpoints(Path path, Configuration conf) {
    super(path, conf);
    disk = Disk.of(path.toString());
  }

  /** What keeps Spark's files at an address. */
  public static CheckpointFileManager at(Path path, Configuration conf) {
    return "s3a".equals(path.toUri().getScheme()) ? new ObjectCheckpoints(path, conf) : new DiskCheckpoints(path, conf);
  }

  protected static String address(Path path) {
    return Disk.plain(path.toString());
  }

  @Override
  public CancellableFSDataOutputStream createAtomic(Path path, boolean overwrite) {
    try {
      return Later.of(path, new Pending(path, disk.whole(address(path), !overwrite)));
    } catch (IOException error) {
      throw sneaky(notWritten(path, error));
    }
  }

  @Override
  public boolean exists(Path path) {
    try {
      return disk.exists(address(path));
    } catch (IOException error) {
      throw sneaky(error);
    }
  }

  @Override
  public void mkdirs(Path path) {
    try {
      disk.makeFolder(address(path));
    } catch (IOException error) {
      throw sneaky(error);
    }
  }

  @Override
  public FileStatus[] list(Path path, PathFilter filter) {
    try {
      List<Disk.Entry> entries = disk.entries(address(path));
      if (entries.isEmpty() && !exists(path)) {
        throw new FileNotFoundException(path.toString());
      }
      return statuses(path, filter, entries);
    } catch (IOException error) {
      throw sneaky(error);
    }
  }

  /** Without those that a crash left half written. */
  protected final FileStatus[] statuses(Path path, PathFilter filter, List<Disk.Entry> entries) {
    List<FileStatus> found = new ArrayList<>();
    for (Disk.Entry entry : entries) {
      Path child = new Path(path, entry.name());
      if (!Disk.isPart(entry.name()) && filter.accept(child)) {
        found.add(new FileStatus(entry.size(), entry.folder(), 1, BLOCK, entry.modified(), fs().makeQualified(child)));
      }
    }
    return found.toArray(new FileStatus[0]);
  }

  @Override
  public void delete(Path path) {
    try {
      disk.deleteAll(address(path));
    } catch (IOException error) {
      throw sneaky(error);
    }
  }

  /** Spark's interface declares no exceptions, and catches the checked ones. */
  @SuppressWarnings("unchecked")
  protected static <E extends Throwable> RuntimeException sneaky(Throwable error) throws E {
    throw (E) error;
  }

  /** Runs recognise by these words that a checkpoint failed. A file that must be new and is not is a different case. */
  private static IOException notWritten(Path path, IOException error) {
    return error instanceof FileAlreadyExistsException
        ? error
        : new IOException("the checkpoint's file " + path + " could not be written: " + error.getMessage(), error);
  }

  /** Says which file could not be written. */
  private static final class Named extends OutputStream {
    private final Path path;
    private final OutputStream file;

    Named(Path path, OutputStream file) {
      this.path = path;
      this.file = file;
    }

    @Override
    public void write(int one) throws IOException {
      write(new byte[] {(byte) one}, 0, 1);
    }

    @Override
    public void write(byte[] bytes, int offset, int length) throws IOException {
      try {
        file.write(bytes, offset, length);
      } catch (IOException error) {
        throw notWritten(path, error);
      }
    }
  }

  /** A file that is not there before it is closed. */
  private static final class Pending extends CancellableFSDataOutputStream {
    private final Path path;
    private final Disk.Whole file;

    Pending(Path path, Disk.Whole file) {
      super(new Named(path, file));
      this.path = path;
      this.file = file;
    }

    @Override
    public void close() throws IOException {
      try {
        file.close();
      } catch (IOException error) {
        throw notWritten(path, error);
      }
    }

    @Override
    public void cancel() {
      try {
        file.cancel();
      } catch (IOException error) {
        throw sneaky(error);
      }
    }
  }
}
