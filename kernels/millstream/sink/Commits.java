package millstream.sink;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import millstream.journal.Disk;
import millstream.journal.Locks;

/** What a checkpoint says: which query it is of, and the last epoch that was committed. */
final class Commits {
  /** By checkpoint, the name of the run of this process. */
  private static final Map<String, String> RUNS = new ConcurrentHashMap<>();

  private static final Duration PATIENCE = Duration.ofSeconds(10);

  private final Disk disk;
  private final CheckpointPaths paths;

  Commits(CheckpointPaths paths) {
    this.paths = paths;
    disk = Disk.of(paths.spark());
  }

  /**
   * Refuses if another run goes on from this checkpoint, for as long as {@code locks} is open. Only local disks have
   * locks.
   */
  void claim(Locks locks) throws IOException {
    if (disk.isLocal()) {
      Path lock = Path.of(paths.lock());
      Path folder = Files.createDirectories(lock.getParent()).toRealPath();
      if (!locks.takeWithin(PATIENCE, folder.resolve(lock.getFileName()))) {
        throw SinkException.checkpointInUse(paths.spark());
      }
    }
  }

  /**
   * Puts this run's name into the checkpoint. A lock may be lost, by a process that hangs for too long or where a disk
   * has none: then the name says who came last.
   */
  void takeOver() throws IOException {
    String own = UUID.randomUUID().toString();
    disk.makeFolder(paths.spark());
    disk.writeAtomically(paths.run(), own.getBytes(StandardCharsets.UTF_8));
    RUNS.put(paths.run(), own);
  }

  /** Refuses what a run does that another one has taken over from. */
  void requireOwn() throws IOException {
    String own = RUNS.get(paths.run());
    if (own != null && !own.equals(new String(disk.readAll(paths.run()), StandardCharsets.UTF_8))) {
      throw SinkException.takenOver(paths.spark());
    }
  }

  /** -1 if no epoch was committed yet. */
  long last() throws IOException {
    long last = -1;
    for (String name : disk.list(paths.commits())) {
      // Next to the log's files lie their checksums and files half written.
      if (!name.isEmpty() && name.chars().allMatch(c -> c >= '0' && c <= '9')) {
        last = Math.max(last, Long.parseLong(name));
      }
    }
    return last;
  }

  /**
   * Deletes files that a crash left half written. Spark takes no notice of them, except before the first epoch: then it
   * refuses a checkpoint whose logs are not empty.
   */
  void clean() throws IOException {
    for (String log : new String[] {paths.offsets(), paths.commits()}) {
      for (String name : disk.list(log)) {
        if (Disk.isPart(name)) {
          disk.delete(log + "/" + name);
        }
      }
    }
  }

  /** The id of the query; null until it has been started once. */
  String queryId() throws IOException {
    if (!disk.exists(paths.query())) {
      return null;
    }
    return new ObjectMapper().readTree(disk.readAll(paths.query())).path("id").asText(null);
  }
}
