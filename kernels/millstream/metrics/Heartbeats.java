package millstream.metrics;

import java.util.HashMap;
import java.util.Map;
import org.apache.spark.scheduler.AccumulableInfo;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerExecutorMetricsUpdate;
import org.apache.spark.scheduler.SparkListenerTaskEnd;
import scala.Tuple4;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/** Receives from executors what their running tasks have counted so far. */
final class Heartbeats extends SparkListener {
  private final Meters meters;

  Heartbeats(Meters meters) {
    this.meters = meters;
  }

  @Override
  public void onExecutorMetricsUpdate(SparkListenerExecutorMetricsUpdate beat) {
    for (Tuple4<Object, Object, Object, Seq<AccumulableInfo>> task : CollectionConverters.asJava(beat.accumUpdates())) {
      figures(task._4()).forEach((id, soFar) -> meters.heard(id, (Long) task._1(), soFar));
      sampled(task._4()).forEach((id, soFar) -> meters.heard(id, (Long) task._1(), soFar));
    }
  }

  /** By accumulator, what a task has counted: in all its copies of it. */
  private static Map<Long, Figures> figures(Seq<AccumulableInfo> parts) {
    Map<Long, Figures> found = new HashMap<>();
    for (AccumulableInfo part : CollectionConverters.asJava(parts)) {
      if (part.update().isDefined() && part.update().get() instanceof Figures soFar) {
        found.merge(part.id(), soFar, Figures::plus);
      }
    }
    return found;
  }

  private static Map<Long, Sampled> sampled(Seq<AccumulableInfo> parts) {
    Map<Long, Sampled> found = new HashMap<>();
    for (AccumulableInfo part : CollectionConverters.asJava(parts)) {
      if (part.update().isDefined() && part.update().get() instanceof Sampled soFar) {
        found.merge(part.id(), soFar, Sampled::with);
      }
    }
    return found;
  }

  @Override
  public void onTaskEnd(SparkListenerTaskEnd end) {
    if (end.taskInfo() != null) {
      meters.ended(end.taskInfo().taskId());
    }
  }
}
