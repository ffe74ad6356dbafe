package millstream.sink;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import millstream.journal.Locks;

/** What comes before a run: nobody else may write, and what the last run left is brought to its end. */
public final class Recovery {
  private Recovery() {}

  /** Returns the sinks' locks: to be closed when the run is over. */
  public static AutoCloseable run(String sinks, String checkpoint) throws IOException {
    Locks locks = new Locks();
    try {
      List<Committer> committers = new ArrayList<>();
      for (SinkSpec spec : SinkSpec.parse(sinks)) {
        Committer committer = SinkKind.of(spec).committer(spec);
        committers.add(committer);
        committer.claim(locks);
      }
      Commits commits = new Commits(checkpoint);
      commits.clean();
      long last = commits.last();
      for (Committer committer : committers) {
        committer.recover(last);
        committer.close();
      }
      Publisher.forget(sinks);
      return locks;
    } catch (IOException | RuntimeException e) {
      locks.close();
      throw e;
    }
  }
}
