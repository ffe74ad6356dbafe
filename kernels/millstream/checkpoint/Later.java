package millstream.checkpoint;

import java.io.Closeable;
import java.io.IOException;
import java.util.List;
import java.util.function.Supplier;
import org.apache.spark.sql.execution.streaming.checkpointing.CheckpointFileManager.CancellableFSDataOutputStream;

/**
 * Lets a task go on while a file that it has written is synced and put in its place.
 *
 * <p>Only changes of state are left for later: what comes after them in the checkpoint is written when they are
 * durable.
 */
public final class Later {
  private static final ThreadLocal<List<Closeable>> COLLECTED = new ThreadLocal<>();

  private Later() {}

  /** Files that are closed by {@code work} are not: they are added to the list, to be closed by whoever has it. */
  public static <T> T collected(List<Closeable> files, Supplier<T> work) {
    COLLECTED.set(files);
    try {
      return work.get();
    } finally {
      COLLECTED.remove();
    }
  }

  /** A file that can be closed later. */
  static final class File extends CancellableFSDataOutputStream {
    private final CancellableFSDataOutputStream file;
    private boolean closed;

    File(CancellableFSDataOutputStream file) {
      super(file);
      this.file = file;
    }

    @Override
    public void close() throws IOException {
      if (closed) {
        return;
      }
      closed = true;
      List<Closeable> later = COLLECTED.get();
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
