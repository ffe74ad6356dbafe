package millstream.state;

import java.lang.reflect.Field;
import org.apache.spark.sql.catalyst.encoders.ExpressionEncoder;
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.TransformWithStateVariableInfo;
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.statefulprocessor.DriverStatefulProcessorHandleImpl;
import org.apache.spark.sql.streaming.StatefulProcessorHandle;
import org.apache.spark.sql.streaming.TimeMode;
import scala.collection.mutable.Map;

/** The handle that a stage has while its query is planned: Spark's tools read only the state that is declared here. */
record Planned(DriverStatefulProcessorHandleImpl handle) {
  /** Timers by the clock, beside those by event time: declared as Spark declares its own. */
  static void clockTimers(StatefulProcessorHandle handle) {
    if (handle instanceof DriverStatefulProcessorHandleImpl planned) {
      new Planned(planned).addClockTimers();
    }
  }

  private void addClockTimers() {
    @SuppressWarnings("unchecked")
    ExpressionEncoder<Object> keys = (ExpressionEncoder<Object>) get("keyExprEnc");
    Planned clock = new Planned(new DriverStatefulProcessorHandleImpl(TimeMode.ProcessingTime(), keys));
    handle.columnFamilySchemas().addAll(clock.handle.columnFamilySchemas());
    variables().addAll(clock.variables());
  }

  @SuppressWarnings("unchecked")
  private Map<String, TransformWithStateVariableInfo> variables() {
    return (Map<String, TransformWithStateVariableInfo>) get("stateVariableInfos");
  }

  private Object get(String name) {
    try {
      Field field = DriverStatefulProcessorHandleImpl.class.getDeclaredField(name);
      field.setAccessible(true);
      return field.get(handle);
    } catch (ReflectiveOperationException error) {
      throw new IllegalStateException("this version of Spark declares state elsewhere", error);
    }
  }
}
