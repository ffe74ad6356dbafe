package millstream.state;

import java.lang.reflect.Field;
import java.lang.reflect.Method;
import org.apache.spark.sql.catalyst.encoders.ExpressionEncoder;
import org.apache.spark.sql.execution.metric.SQLMetric;
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.statefulprocessor.StatefulProcessorHandleImpl;
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.timers.TimerStateImpl;
import org.apache.spark.sql.execution.streaming.state.StateStore;
import org.apache.spark.sql.streaming.StatefulProcessorHandle;
import scala.collection.immutable.Map;

/**
 * What a handle holds and does not show, in a task: the store of its state, how keys are written there, and its timers.
 */
public record Opened(StatefulProcessorHandleImpl handle) {
  /** NULL where there is no store: while the query is planned. */
  public static Opened of(StatefulProcessorHandle handle) {
    return handle instanceof StatefulProcessorHandleImpl opened ? new Opened(opened) : null;
  }

  public StateStore store() {
    return (StateStore) get("store");
  }

  @SuppressWarnings("unchecked")
  ExpressionEncoder<Object> keys() {
    return (ExpressionEncoder<Object>) get("keyEncoder");
  }

  /** By which the rows of state that are written are counted in Spark's progress. */
  @SuppressWarnings("unchecked")
  Map<String, SQLMetric> metrics() {
    return (Map<String, SQLMetric>) get("metrics");
  }

  /** Puts others in the place of those that it has. */
  void setTimers(TimerStateImpl timers) {
    try {
      // It makes them when it is first asked for them.
      Method made = StatefulProcessorHandleImpl.class.getDeclaredMethod("timerState");
      made.setAccessible(true);
      made.invoke(handle);
      field("timerState").set(handle, timers);
    } catch (ReflectiveOperationException error) {
      throw elsewhere("timers", error);
    }
  }

  private Object get(String name) {
    try {
      return field(name).get(handle);
    } catch (ReflectiveOperationException error) {
      throw elsewhere(name, error);
    }
  }

  private static Field field(String name) throws ReflectiveOperationException {
    Field field = StatefulProcessorHandleImpl.class.getDeclaredField(name);
    field.setAccessible(true);
    return field;
  }

  private static IllegalStateException elsewhere(String what, ReflectiveOperationException error) {
    return new IllegalStateException("this version of Spark keeps its " + what + " elsewhere", error);
  }
}
