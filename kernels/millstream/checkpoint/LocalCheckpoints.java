package millstream.checkpoint;

import java.io.BufferedOutputStream;
import java.io.File;
import java.io.FileNotFoundException;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.UUID;
import java.util.stream.Stream;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileAlreadyExistsException;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.PathFilter;
import org.apache.spark.sql.execution.streaming.checkpointing.CheckpointFileManager.CancellableFSDataOutputStream;
import org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager;

/**
 * Checkpoints on a local disk, written by the operating system's own calls.
 *
 * <p>Spark's two ways go through Hadoop, which, without its native library, starts a process (chmod, ls, readlink) for
 * most calls: that was most of the pause between two epochs. They also do not sync what they write. Here a file is
 * written under another name, synced, and put in its place by one atomic rename, or by a link where it must be new.
 */
public class LocalCheckpoints extends FileSystemBasedCheckpointFileManager {
  private static final long BLOCK = 32L << 20;

  public LocalCheckpoints(Path path, Configuration conf) {
    super(path, conf);
  }

  static java.nio.file.Path local(Path path) {
    return new File(path.toUri().getPath()).toPath();
  }

  @Override
  public final CancellableFSDataOutputStream createAtomic(Path path, boolean overwrite) {
    CancellableFSDataOutputStream file = created(path, overwrite);
    return path.getName().endsWith(".changelog") ? new Later.File(file) : file;
  }

  protected CancellableFSDataOutputStream created(Path path, boolean overwrite) {
    try {
      return new Pending(local(path), overwrite);
    } catch (IOException error) {
      throw new UncheckedIOException(error);
    }
  }

  @Override
  public boolean exists(Path path) {
    return Files.exists(local(path));
  }

  @Override
  public void mkdirs(Path path) {
    try {
      Files.createDirectories(local(path));
    } catch (IOException error) {
      throw new UncheckedIOException(error);
    }
  }

  @Override
  public FileStatus[] list(Path path, PathFilter filter) {
    List<FileStatus> found = new ArrayList<>();
    try (Stream<java.nio.file.Path> names = Files.list(local(path))) {
      for (java.nio.file.Path name : (Iterable<java.nio.file.Path>) names::iterator) {
        Path child = new Path(path, name.getFileName().toString());
        if (filter.accept(child)) {
          File file = name.toFile();
          found.add(new FileStatus(
              file.length(), file.isDirectory(), 1, BLOCK, file.lastModified(), fs().makeQualified(child)));
        }
      }
    } catch (java.nio.file.NoSuchFileException error) {
      throw sneaky(new FileNotFoundException(path.toString()));
    } catch (IOException error) {
      throw new UncheckedIOException(error);
    }
    return found.toArray(new FileStatus[0]);
  }

  @Override
  public void delete(Path path) {
    java.nio.file.Path root = local(path);
    if (!Files.exists(root)) {
      return;
    }
    try (Stream<java.nio.file.Path> all = Files.walk(root)) {
      for (java.nio.file.Path name : (Iterable<java.nio.file.Path>) all.sorted(Comparator.reverseOrder())::iterator) {
        Files.deleteIfExists(name);
      }
    } catch (IOException error) {
      throw new UncheckedIOException(error);
    }
  }

  /** Spark's interface declares no exceptions, and catches the checked ones. */
  @SuppressWarnings("unchecked")
  private static <E extends Throwable> RuntimeException sneaky(Throwable error) throws E {
    throw (E) error;
  }

  /** A file that is not there before it is closed. */
  private static final class Pending extends CancellableFSDataOutputStream {
    private final java.nio.file.Path target;
    private final java.nio.file.Path temporary;
    private final boolean overwrite;
    private final FileOutputStream file;
    private boolean over;

    Pending(java.nio.file.Path target, boolean overwrite) throws IOException {
      this(target, target.resolveSibling("." + target.getFileName() + "." + UUID.randomUUID() + ".tmp"), overwrite);
    }

    private Pending(java.nio.file.Path target, java.nio.file.Path temporary, boolean overwrite) throws IOException {
      this(target, temporary, overwrite, open(temporary));
    }

    private Pending(java.nio.file.Path target, java.nio.file.Path temporary, boolean overwrite, FileOutputStream file) {
      super(new BufferedOutputStream(file, 1 << 16));
      this.target = target;
      this.temporary = temporary;
      this.overwrite = overwrite;
      this.file = file;
    }

    private static FileOutputStream open(java.nio.file.Path path) throws IOException {
      Files.createDirectories(path.getParent());
      return new FileOutputStream(path.toFile());
    }

    @Override
    public void close() throws IOException {
      if (over) {
        return;
      }
      over = true;
      try {
        flush();
        file.getFD().sync();
        super.close();
        publish();
      } finally {
        file.close();
        Files.deleteIfExists(temporary);
      }
    }

    private void publish() throws IOException {
      if (overwrite) {
        Files.move(temporary, target, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
      } else {
        try {
          Files.createLink(target, temporary);
        } catch (java.nio.file.FileAlreadyExistsException error) {
          throw new FileAlreadyExistsException("Failed to rename as " + target + " already exists");
        }
      }
      try (FileChannel folder = FileChannel.open(target.getParent(), StandardOpenOption.READ)) {
        folder.force(true);
      }
    }

    @Override
    public void cancel() {
      over = true;
      try {
        file.close();
        Files.deleteIfExists(temporary);
      } catch (IOException error) {
        throw new UncheckedIOException(error);
      }
    }
  }
}
