package millstream.journal;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.locks.LockSupport;

/**
 * The partitions that one run may write to. POSIX locks: they end with the process, and Python's see them.
 *
 * <p>Such a lock is also lost when its process closes any other handle of the file, so within the process a set says
 * who holds what, and a file that is locked is never opened a second time.
 */
public final class Locks implements AutoCloseable {
  private static final Set<String> HELD = new HashSet<>();
  private static final Duration PAUSE = Duration.ofMillis(50);

  private final Map<String, FileChannel> channels = new LinkedHashMap<>();

  /** Locks every partition of the topic, or refuses. Two sinks of one run may share a topic. */
  public void take(Topic topic) throws IOException {
    if (!topic.disk().isLocal()) {
      return;
    }
    for (int partition = 0; partition < topic.partitions(); partition++) {
      topic.disk().makeFolder(topic.folder(partition));
      Path file = topic.lock(partition);
      if (!channels.containsKey(file.toString()) && !take(file)) {
        throw JournalException.locked(topic.name(), partition);
      }
    }
  }

  /** Locks a file, or says that another process has it. */
  public boolean take(Path file) throws IOException {
    synchronized (HELD) {
      if (HELD.contains(file.toString())) {
        return false;
      }
      FileChannel channel = FileChannel.open(file, StandardOpenOption.CREATE, StandardOpenOption.WRITE);
      FileLock lock = channel.tryLock();
      if (lock == null) {
        channel.close();
        return false;
      }
      HELD.add(file.toString());
      channels.put(file.toString(), channel);
      return true;
    }
  }

  /**
   * The same, but waits for another process to let go: a killed process is gone a moment after the kill returns. Does
   * not wait for a run of this process.
   */
  public boolean takeWithin(Duration patience, Path file) throws IOException {
    long began = System.nanoTime();
    while (!take(file)) {
      if (held(file) || System.nanoTime() - began > patience.toNanos()) {
        return false;
      }
      LockSupport.parkNanos(PAUSE.toNanos());
    }
    return true;
  }

  private static boolean held(Path file) {
    synchronized (HELD) {
      return HELD.contains(file.toString());
    }
  }

  @Override
  public void close() throws IOException {
    synchronized (HELD) {
      for (Map.Entry<String, FileChannel> entry : channels.entrySet()) {
        entry.getValue().close();
        HELD.remove(entry.getKey());
      }
      channels.clear();
    }
  }
}
