package millstream.sink;

import java.io.IOException;
import java.util.List;
import millstream.journal.Locks;

/** The driver's side of one sink: two phases, prepared and published. */
public interface Committer extends AutoCloseable {
  /** Refuses if another run writes to the same place, for as long as {@code locks} is open. */
  default void claim(Locks locks) throws IOException {}

  /** For a batch, which has no checkpoint: refuses a writer whose tokens are there already. */
  default void requireUnused() throws IOException {}

  /** First phase: all tasks have prepared. Durable when it returns; prepares anew if the epoch is run again. */
  void prepared(long epoch, List<TaskWriter.Prepared> tasks) throws IOException;

  /** Second phase: publishes all that is prepared up to this epoch. Doing it again changes nothing. */
  void publish(long upTo) throws IOException;

  /** Before a run: publishes up to the last committed epoch and throws everything later away. */
  void recover(long lastCommitted) throws IOException;

  /** The epoch failed: throws away what its tasks wrote, as far as possible. */
  void discard(long epoch) throws IOException;

  /** The run is over: throws away what its tasks left open. */
  default void finish() throws IOException {}

  /** The run is over, however it ended: lets go of what its tasks keep from epoch to epoch. */
  default void release() {}

  @Override
  default void close() throws IOException {}
}
