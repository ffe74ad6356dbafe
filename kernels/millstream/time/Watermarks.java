package millstream.time;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.lang.reflect.Field;
import java.util.UUID;
import millstream.commit.Decisions;
import org.apache.spark.sql.execution.streaming.runtime.MicroBatchExecution;
import org.apache.spark.sql.execution.streaming.runtime.WatermarkTracker;
import scala.Option;
import scala.Some;

/**
 * How far each source is, kept with the decision that an epoch counts.
 *
 * <p>Spark keeps the least of them only: after a restart, a source without new rows would hold time back until it has
 * some.
 */
final class Watermarks {
  private final MicroBatchExecution query;
  private final Timed[] sources;
  private final Decisions decisions;
  private boolean restored;

  Watermarks(MicroBatchExecution query, Timed[] sources, Decisions decisions) {
    this.query = query;
    this.sources = sources;
    this.decisions = decisions;
  }

  ObjectNode now() {
    ObjectNode all = JsonNodeFactory.instance.objectNode();
    for (Timed source : sources) {
      long said = Clock.said(query.watermarkTracker(), source);
      if (said > 0) {
        all.put(source.name, said);
      }
    }
    return all;
  }

  /** As of the last epoch that was committed, once: when Spark has a place for them, before an epoch is planned. */
  void restore() {
    if (restored) {
      return;
    }
    restored = true;
    JsonNode known = decisions.lastWatermarks();
    WatermarkTracker tracker = query.watermarkTracker();
    synchronized (tracker) {
      for (Timed source : sources) {
        if (known.has(source.name) && Clock.said(tracker, source) == 0) {
          of(tracker).put(source.watermark, new Some<>(known.get(source.name).asLong()));
        }
      }
    }
  }

  @SuppressWarnings("unchecked")
  private static scala.collection.mutable.Map<UUID, Option<Object>> of(WatermarkTracker tracker) {
    try {
      Field field = WatermarkTracker.class.getDeclaredField("operatorToWatermarkMap");
      field.setAccessible(true);
      return (scala.collection.mutable.Map<UUID, Option<Object>>) field.get(tracker);
    } catch (ReflectiveOperationException error) {
      throw Propagation.moved(error);
    }
  }
}
