package millstream.checkpoint;

import java.io.Closeable;
import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Supplier;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.execution.streaming.checkpointing.CheckpointFileManager.CancellableFSDataOutputStream;

/**
 * Lets a task go on while a file that it has written is synced and put in its place.
 *
 * <p>Only changes of state are left for later: what comes after them in the checkpoint is written when they are
 * durable.
 */
public final class Later {
  /** By folder: Spark closes a file and that of its checksum on threads of its own, and waits for them. */
  private static final Map<String, List<Closeable>> COLLECTED = new ConcurrentHashMap<>();

  private Later() {}

  /**
   * Files of a folder that are closed by {@code work} are not: they are added to the list, to be closed by its owner.
   * Several threads may add to it.
   */
  public static <T> T collected(Path folder, List<Closeable> files, Supplier<T> work) {
    COLLECTED.put(key(folder), files);
    try {
      return work.get();
    } finally {
      COLLECTED.remove(key(folder));
    }
  }

  private static String key(Path folder) {
    return folder.toUri().getAuthority() + folder.toUri().getPath();
  }

  /** A file of the checkpoint, which can be closed later if it holds changes of state, or their checksum. */
  public static CancellableFSDataOutputStream of(Path path, CancellableFSDataOutputStream file) {
    return path.getName().contains(".changelog") ? new File(key(path.getParent()), file) : file;
  }

  /** The file itself. */
  public static CancellableFSDataOutputStream now(CancellableFSDataOutputStream file) {
    return file instanceof File later ? later.file : file;
  }

  private static final class File extends CancellableFSDataOutputStream {
    private final String folder;
    private final CancellableFSDataOutputStream file;
    private boolean closed;

    File(String folder, CancellableFSDataOutputStream file) {
      super(file);
      this.folder = folder;
      this.file = file;
    }

    @Override
    public void close() throws IOException {
      if (closed) {
        return;
      }
      closed = true;
      List<Closeable> later = COLLECTED.get(folder);
      if (later == null) {
        file.close();
      } else {
        later.add(file);
      }
    }

    @Override
    public void cancel() {
      closed = true;
      file.cancel();
    }
  }
}
