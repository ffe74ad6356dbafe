package millstream.barrier;

import java.io.Closeable;
import java.io.Serializable;
import java.lang.reflect.Field;
import java.util.List;
import millstream.checkpoint.Later;
import org.apache.spark.sql.execution.streaming.state.RocksDB;
import org.apache.spark.sql.execution.streaming.state.RocksDBMetrics;
import org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider.RocksDBStateStore;
import org.apache.spark.sql.execution.streaming.state.StateStoreCheckpointInfo;
import org.rocksdb.FlushOptions;
import org.rocksdb.RocksDBException;
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

  /** How many epochs before a snapshot is due RocksDB begins to write out what it has in memory. */
  private static final int AHEAD = 3;

  /** Spark's way to RocksDB itself; NULL: this version has another, and snapshots take longer. */
  private static final Field NATIVE = field();

  private final RocksDBStateStore store;
  private int sinceSnapshot;

  SavedState(RocksDBStateStore store) {
    this.store = store;
  }

  private static Field field() {
    try {
      Field found = RocksDB.class.getDeclaredField("db");
      found.setAccessible(true);
      return found;
    } catch (NoSuchFieldException missing) {
      return null;
    }
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
    writeAhead(database, metrics);
    return new Saved(
        store.id().operatorId(),
        saved._2(),
        metrics == null ? 0 : metrics.numCommittedKeys(),
        metrics == null ? 0 : metrics.totalMemUsageBytes(),
        metrics == null ? 0 : metrics.totalSSTFilesBytes());
  }

  /** A snapshot waits until all that is in memory is written: that is done beside the task, but for the last rows. */
  private void writeAhead(RocksDB database, RocksDBMetrics metrics) {
    boolean snapshot = metrics != null && metrics.lastCommitLatencyMs().contains("flush");
    sinceSnapshot = snapshot ? 0 : sinceSnapshot + 1;
    if (NATIVE == null || sinceSnapshot != database.conf().minDeltasForSnapshot() - AHEAD) {
      return;
    }
    try (FlushOptions options = new FlushOptions().setWaitForFlush(false).setAllowWriteStall(true)) {
      ((org.rocksdb.RocksDB) NATIVE.get(database)).flush(options);
    } catch (RocksDBException | IllegalAccessException error) {
      throw new IllegalStateException("RocksDB cannot write: " + error.getMessage(), error);
    }
  }
}
