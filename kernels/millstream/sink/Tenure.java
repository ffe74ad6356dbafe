package millstream.sink;

import java.io.IOException;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import millstream.commit.Decisions;
import millstream.journal.Locks;

/** What a run has while it may write: the locks of local disks, and its place in the sequence of decisions. */
public final class Tenure implements AutoCloseable {
  /** By sinks: Spark makes the sinks' side of an epoch, and hands nothing else to it. */
  private static final Map<String, Tenure> RUNNING = new ConcurrentHashMap<>();

  private final String sinks;
  private final CheckpointPaths paths;
  private final Decisions decisions;
  private final Locks locks;

  Tenure(String sinks, CheckpointPaths paths, Decisions decisions, Locks locks) {
    this.sinks = sinks;
    this.paths = paths;
    this.decisions = decisions;
    this.locks = locks;
    RUNNING.put(sinks, this);
  }

  static Tenure of(String sinks) {
    Tenure running = RUNNING.get(sinks);
    if (running == null) {
      throw new IllegalStateException("these sinks are of no run that has begun");
    }
    return running;
  }

  String sinks() {
    return sinks;
  }

  CheckpointPaths paths() {
    return paths;
  }

  public Decisions decisions() {
    return decisions;
  }

  /** When nothing is written any more. */
  @Override
  public void close() throws IOException {
    RUNNING.remove(sinks, this);
    locks.close();
  }
}
