package millstream.checkpoint;

import java.io.IOException;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.regex.Pattern;
import millstream.journal.Disk;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.PathFilter;
import org.apache.spark.sql.execution.streaming.checkpointing.CheckpointFileManager.CancellableFSDataOutputStream;

/**
 * Spark's files of a checkpoint in an object store, with few requests: each costs time and money.
 *
 * <p>There are no folders to make or to look for. The names in Spark's logs, which one run writes, are known once they
 * were listed. If another run writes there after all, its objects are not replaced: they must be new.
 */
public final class ObjectCheckpoints extends DiskCheckpoints {
  private static final Set<String> LOGS = Set.of("offsets", "commits");
  /** Names that only objects have, and no folders. */
  private static final Pattern OBJECT = Pattern.compile("\\d+|.*\\.(changelog|zip|sst|log|crc|delta|snapshot)");

  private final Path folder;
  private final boolean isLog;
  /** The content of a log's folder; null until it was listed. */
  private volatile Set<String> names;

  public ObjectCheckpoints(Path path, Configuration conf) {
    super(path, conf);
    folder = path;
    isLog = LOGS.contains(path.getName());
  }

  private boolean knows(Path path) {
    return names != null && folder.equals(path.getParent());
  }

  @Override
  public CancellableFSDataOutputStream createAtomic(Path path, boolean overwrite) {
    CancellableFSDataOutputStream out = super.createAtomic(path, overwrite);
    return knows(path) ? new Noted(out, path.getName()) : out;
  }

  @Override
  public boolean exists(Path path) {
    if (isLog && path.equals(folder)) {
      return true;
    }
    return knows(path) ? names.contains(path.getName()) : super.exists(path);
  }

  @Override
  public FileStatus[] list(Path path, PathFilter filter) {
    try {
      List<Disk.Entry> entries = disk.entries(address(path));
      if (isLog && path.equals(folder)) {
        Set<String> found = ConcurrentHashMap.newKeySet();
        entries.forEach(entry -> found.add(entry.name()));
        names = found;
      }
      return statuses(path, filter, entries);
    } catch (IOException error) {
      throw sneaky(error);
    }
  }

  @Override
  public void delete(Path path) {
    if (!OBJECT.matcher(path.getName()).matches()) {
      super.delete(path);
      return;
    }
    try {
      disk.delete(address(path));
    } catch (IOException error) {
      throw sneaky(error);
    }
    if (knows(path)) {
      names.remove(path.getName());
    }
  }

  @Override
  public Path createCheckpointDirectory() {
    return fs().makeQualified(folder);
  }

  /** Reports a name once its file is there. */
  private final class Noted extends CancellableFSDataOutputStream {
    private final CancellableFSDataOutputStream out;
    private final String name;

    Noted(CancellableFSDataOutputStream out, String name) {
      super(out);
      this.out = out;
      this.name = name;
    }

    @Override
    public void close() throws IOException {
      out.close();
      names.add(name);
    }

    @Override
    public void cancel() {
      out.cancel();
    }
  }
}
