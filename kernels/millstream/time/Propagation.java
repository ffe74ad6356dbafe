package millstream.time;

import java.lang.reflect.Field;
import java.util.TreeMap;
import millstream.stage.Stage;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.TransformWithStateExec;
import org.apache.spark.sql.execution.streaming.runtime.MicroBatchExecution;
import org.apache.spark.sql.execution.streaming.runtime.WatermarkPropagator;
import scala.runtime.AbstractFunction1;
import scala.runtime.BoxedUnit;

/**
 * How Spark passes the watermark to its operators, with two changes: that of an epoch yet to begin may still move, and
 * stages also get that of the epoch before.
 *
 * <p>A query that waits for rows asks again and again whether the watermark alone calls for an epoch. Spark assumes
 * that the answer cannot change until rows come.
 */
final class Propagation implements WatermarkPropagator {
  private final WatermarkPropagator sparks;
  private final TreeMap<Long, Long> told = new TreeMap<>();

  /** NULL: nothing to restore. */
  private final Watermarks watermarks;

  private Propagation(WatermarkPropagator sparks, Watermarks watermarks) {
    this.sparks = sparks;
    this.watermarks = watermarks;
  }

  /** To be done before the query's first epoch. */
  static void install(MicroBatchExecution query, Watermarks watermarks) {
    try {
      Field field = MicroBatchExecution.class.getDeclaredField("watermarkPropagator");
      field.setAccessible(true);
      field.set(query, new Propagation((WatermarkPropagator) field.get(query), watermarks));
    } catch (ReflectiveOperationException error) {
      throw moved(error);
    }
  }

  static IllegalStateException moved(ReflectiveOperationException error) {
    return new IllegalStateException("MS-SETUP-004: this Spark keeps its watermark elsewhere than Spark 4.3.", error);
  }

  @Override
  public void propagate(long epoch, SparkPlan plan, long watermark) {
    if (watermarks != null) {
      watermarks.restore();
    }
    Long before = told.put(epoch, watermark);
    if (before != null && before != watermark) {
      sparks.purge(epoch);
    }
    sparks.propagate(epoch, plan, watermark);
    plan.foreach(new Telling(watermark, told.getOrDefault(epoch - 1, 0L)));
  }

  private static final class Telling extends AbstractFunction1<SparkPlan, BoxedUnit> {
    private final long watermark;
    private final long before;

    Telling(long watermark, long before) {
      this.watermark = watermark;
      this.before = before;
    }

    @Override
    public BoxedUnit apply(SparkPlan node) {
      if (node instanceof TransformWithStateExec exec && (Object) exec.statefulProcessor() instanceof Stage stage) {
        stage.plan(watermark, before, exec.isRealTimeMode());
      }
      return BoxedUnit.UNIT;
    }
  }

  @Override
  public long getInputWatermarkForLateEvents(long epoch, long operator) {
    return sparks.getInputWatermarkForLateEvents(epoch, operator);
  }

  @Override
  public long getInputWatermarkForEviction(long epoch, long operator) {
    return sparks.getInputWatermarkForEviction(epoch, operator);
  }

  @Override
  public void purge(long epoch) {
    told.headMap(epoch, true).clear();
    sparks.purge(epoch);
  }
}
