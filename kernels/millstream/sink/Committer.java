package millstream.sink;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.util.List;
import millstream.journal.Locks;

/** The driver's side of one sink: two phases, prepared and published. */
public interface Committer extends AutoCloseable {
  /** Refuses the actions of a run after another one has taken over. */
  interface Fence {
    /** Where no other run can take over. */
    Fence NONE = () -> {};

    void check() throws IOException;
  }

  /** Refuses if another run writes to the same place, for as long as {@code locks} is open. */
  default void claim(Locks locks) throws IOException {}

  /** For a batch, which has no checkpoint: refuses a writer whose tokens are there already. */
  default void requireUnused() throws IOException {}

  /**
   * First phase: all tasks have prepared. Returns what must be known to publish their rows; it is kept with the
   * decision that the epoch counts. Nothing may be lost of what tasks have prepared, and nothing may be changed: the
   * epoch may turn out not to count.
   */
  JsonNode prepared(long epoch, List<TaskWriter.Prepared> tasks) throws IOException;

  /** Second phase: publishes an epoch that counts. Doing it again changes nothing, even if it was done in part. */
  void publish(long epoch, JsonNode prepared, Fence fence) throws IOException;

  /**
   * Before a run, when all epochs that count are published: throws away what earlier tenures left. Not what later ones
   * write: another run may have taken over meanwhile.
   */
  void recover(long lastCommitted, long tenure, Fence fence) throws IOException;

  /**
   * Throws away what tasks of this tenure wrote of an epoch and of later ones, as far as possible: none of them counts.
   */
  void discard(long from, long tenure) throws IOException;

  /** The run is over, however it ended: releases what its tasks keep from epoch to epoch. */
  default void release() {}

  @Override
  default void close() throws IOException {}
}
