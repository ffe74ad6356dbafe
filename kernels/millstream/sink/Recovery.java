package millstream.sink;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import millstream.checkpoint.Moved;
import millstream.checkpoint.Orphans;
import millstream.commit.CheckpointException;
import millstream.commit.Decision;
import millstream.commit.Decisions;
import millstream.journal.Disk;
import millstream.journal.Locks;

/** What comes before a run: no other run may commit any more, and what the last run left is completed. */
public final class Recovery {
  private static final Duration PATIENCE = Duration.ofSeconds(10);

  private final CheckpointPaths paths;
  private final Disk disk;
  private final Map<String, Committer> committers = new LinkedHashMap<>();
  private final Locks locks = new Locks();

  private Recovery(CheckpointPaths paths) {
    this.paths = paths;
    this.disk = Disk.of(paths.spark());
  }

  /** Returns the run's tenure: to be closed when the run is over. */
  public static Tenure run(String sinks, String checkpoint) throws IOException {
    return run(sinks, checkpoint, UUID.randomUUID().toString(), false);
  }

  /** The same for a process that may start a job several times. `again`: it does so by itself. */
  public static Tenure run(String sinks, String checkpoint, String process, boolean again) throws IOException {
    Recovery recovery = new Recovery(CheckpointPaths.parse(checkpoint));
    try {
      recovery.claim(SinkSpec.parse(sinks));
      Decisions decisions = Decisions.takeOver(recovery.paths.decisions(), process, again);
      recovery.finish(decisions);
      Publisher.forget(sinks);
      return new Tenure(sinks, recovery.paths, decisions, recovery.locks);
    } catch (IOException | RuntimeException e) {
      recovery.locks.close();
      throw e;
    } finally {
      for (Committer committer : recovery.committers.values()) {
        committer.close();
      }
    }
  }

  /** Local disks have locks: there, a run that is alive is not disturbed by one that is started by mistake. */
  private void claim(List<SinkSpec> specs) throws IOException {
    if (disk.isLocal()) {
      Path lock = Path.of(paths.lock());
      Path folder = Files.createDirectories(lock.getParent()).toRealPath();
      if (!locks.takeWithin(PATIENCE, folder.resolve(lock.getFileName()))) {
        throw CheckpointException.inUse(paths.spark());
      }
    }
    for (SinkSpec spec : specs) {
      Committer committer = SinkKind.of(spec).committer(spec);
      committers.put(spec.writer(), committer);
      committer.claim(locks);
    }
  }

  private void finish(Decisions decisions) throws IOException {
    clean();
    for (Decision decision : decisions.unpublished()) {
      paths.record(decision);
      Publisher.publish(decision, committers, decisions);
    }
    for (Committer committer : committers.values()) {
      committer.recover(decisions.lastEpoch(), decisions.tenure(), decisions::requireOwn);
    }
    decisions.requireOwn();
    Orphans.delete(paths.spark(), paths.lastCommitted());
    Moved.mend(paths.spark());
  }

  /**
   * Deletes files that a crash left half written. Spark takes no notice of them, except before the first epoch: then it
   * refuses a checkpoint whose logs are not empty.
   */
  private void clean() throws IOException {
    for (String log : new String[] {paths.offsets(), paths.commits()}) {
      for (String name : disk.list(log)) {
        if (Disk.isPart(name)) {
          disk.delete(log + "/" + name);
        }
      }
    }
  }
}
