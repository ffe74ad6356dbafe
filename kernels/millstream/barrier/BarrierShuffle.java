package millstream.barrier;

import org.apache.spark.TaskContext;
import org.apache.spark.shuffle.ShuffleHandle;
import org.apache.spark.shuffle.ShuffleReadMetricsReporter;
import org.apache.spark.shuffle.ShuffleReader;
import org.apache.spark.shuffle.ShuffleWriteMetricsReporter;
import org.apache.spark.shuffle.ShuffleWriter;
import org.apache.spark.shuffle.streaming.StreamingShuffleManager;

/**
 * Spark's streaming shuffle, through which barriers can flow: {@code spark.shuffle.manager.incremental}. Queries
 * without barriers get Spark's own.
 */
public final class BarrierShuffle extends StreamingShuffleManager {
  @Override
  public <K, V> ShuffleWriter<K, V> getWriter(
      ShuffleHandle handle, long task, TaskContext context, ShuffleWriteMetricsReporter metrics) {
    TaskBarriers barriers = TaskBarriers.of(context);
    return barriers == null
        ? super.getWriter(handle, task, context, metrics)
        : new ShuffleOut<>(handle, task, context, barriers);
  }

  @Override
  public <K, C> ShuffleReader<K, C> getReader(
      ShuffleHandle handle,
      int firstMap,
      int lastMap,
      int first,
      int last,
      TaskContext context,
      ShuffleReadMetricsReporter metrics) {
    TaskBarriers barriers = TaskBarriers.of(context);
    return barriers == null
        ? super.getReader(handle, firstMap, lastMap, first, last, context, metrics)
        : new ShuffleIn<>(handle, context, barriers);
  }
}
