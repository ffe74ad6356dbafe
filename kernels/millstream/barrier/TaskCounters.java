package millstream.barrier;

import java.util.HashMap;
import millstream.metrics.Counts;
import millstream.metrics.Figures;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.execution.streaming.operators.stateful.EventTimeStatsAccum;
import org.apache.spark.util.AccumulatorV2;
import scala.jdk.javaapi.CollectionConverters;

/**
 * What a task has counted up to a barrier. Spark asks tasks for it when they end, and these do not.
 *
 * @param times by accumulator, the greatest event time
 * @param counts by accumulator, in all copies of it that the task has
 */
record TaskCounters(HashMap<Long, Long> times, HashMap<Long, Figures> counts) {
  /** On the task's own thread. */
  static TaskCounters of(TaskContext context) {
    TaskCounters found = new TaskCounters(new HashMap<>(), new HashMap<>());
    for (AccumulatorV2<?, ?> one :
        CollectionConverters.asJava(context.taskMetrics().accumulators())) {
      if (one instanceof EventTimeStatsAccum stats && stats.value().count() > 0) {
        found.times.merge(one.id(), stats.value().max(), Math::max);
      } else if (one instanceof Counts counts) {
        found.counts.merge(one.id(), counts.value(), Figures::plus);
      }
    }
    return found;
  }
}
