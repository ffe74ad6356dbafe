package millstream.barrier;

import java.io.Closeable;
import java.io.Serializable;
import java.util.List;
import millstream.checkpoint.Later;
import org.apache.spark.sql.execution.streaming.state.RocksDB;
import org.apache.spark.sql.execution.streaming.state.RocksDBMetrics;
import org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider.RocksDBStateStore;
import org.apache.spark.sql.execution.streaming.state.StateStoreCheckpointInfo;
import scala.Option;
import scala.Tuple2;

/** Saves a task's state at a barrier, as Spark does at a batch's end, and continues with it. */
final class SavedState {
  /**
   * What was saved.
   *
   * @param rows how many there are, if they are counted
   * @param memory in bytes
   * @param files in bytes
   */
  record Saved(long operator, StateStoreCheckpointInfo info, long rows, long memory, long files)
      implements Serializable {}

  private final RocksDBStateStore store;

  SavedState(RocksDBStateStore store) {
    this.store = store;
  }

  /** {@code later}: files that are still to be closed, without which the state is not durable. */
  Saved save(List<Closeable> later) {
    RocksDB database = store.dbInstance();
    Tuple2<Object, StateStoreCheckpointInfo> saved =
        Later.collected(store.id().storeCheckpointLocation(), later, () -> database.commit(false));
    Option<RocksDBMetrics> found = database.metricsOpt();
    // Of the version that is there already: only the next changelog is opened.
    database.load((Long) saved._1(), saved._2().stateStoreCkptId(), false, false);
    RocksDBMetrics metrics = found.isEmpty() ? null : found.get();
    return new Saved(
        store.id().operatorId(),
        saved._2(),
        metrics == null ? 0 : metrics.numCommittedKeys(),
        metrics == null ? 0 : metrics.totalMemUsageBytes(),
        metrics == null ? 0 : metrics.totalSSTFilesBytes());
  }
}
