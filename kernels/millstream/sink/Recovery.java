package millstream.sink;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import millstream.journal.Locks;

/** What comes before a run: nobody else may write, and what the last run left is brought to its end. */
public final class Recovery {
  private Recovery() {}

  /** Returns the locks of checkpoint and sinks: to be closed when the run is over. */
  public static AutoCloseable run(String sinks, String checkpoint) throws IOException {
    Locks locks = new Locks();
    List<Committer> committers = new ArrayList<>();
    try {
      Commits commits = new Commits(CheckpointPaths.parse(checkpoint));
      // Before anything is changed: of two runs, the second would throw away what the first has prepared.
      commits.claim(locks);
      for (SinkSpec spec : SinkSpec.parse(sinks)) {
        Committer committer = SinkKind.of(spec).committer(spec);
        committers.add(committer);
        committer.claim(locks);
      }
      commits.takeOver();
      commits.clean();
      long last = commits.last();
      for (Committer committer : committers) {
        committer.recover(last);
      }
      Publisher.forget(sinks);
      return locks;
    } catch (IOException | RuntimeException e) {
      locks.close();
      throw e;
    } finally {
      for (Committer committer : committers) {
        committer.close();
      }
    }
  }
}
