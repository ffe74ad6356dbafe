package millstream.state;

import java.lang.ref.SoftReference;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.function.Supplier;
import millstream.row.BoundRowEncoder;
import millstream.row.InternalRowEncoder;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.encoders.ExpressionEncoder;
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.CompositeKeyStateEncoder;
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.StateTypesEncoder;
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.TimerKeyEncoder;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.util.TaskCompletionListener;

/**
 * What writes and reads the rows of state variables: handed from one task to the next.
 *
 * <p>Spark makes one for every variable of every task: it generates the code of half a dozen projections, only to find
 * them compiled in a cache. With small epochs, that was a third of what tasks cost. It is not safe for threads, so a
 * task has its own, and gives it back when it has ended well: of one that failed, a thread may be left.
 */
final class Encoders {
  /** More than a process ever has, unless it runs job after job. */
  private static final int MOST = 1000;

  private static final Map<Shape, Queue<SoftReference<Object>>> IDLE = new ConcurrentHashMap<>();

  /** {@code key}: the type of a map's keys; NULL of others. */
  private record Shape(String name, StructType group, StructType key, StructType value) {}

  private Encoders() {}

  @SuppressWarnings("unchecked")
  static StateTypesEncoder<InternalRow> ofValue(ExpressionEncoder<Object> keys, String name, StructType value) {
    return (StateTypesEncoder<InternalRow>)
        lent(keys, name, null, value, () -> new StateTypesEncoder<>(keys, BoundRowEncoder.of(value), name, false));
  }

  @SuppressWarnings("unchecked")
  static CompositeKeyStateEncoder<InternalRow, InternalRow> ofMap(
      ExpressionEncoder<Object> keys, String name, StructType key, StructType value) {
    return (CompositeKeyStateEncoder<InternalRow, InternalRow>) lent(
        keys,
        name,
        key,
        value,
        () -> new CompositeKeyStateEncoder<>(keys, BoundRowEncoder.of(key), BoundRowEncoder.of(value), name, false));
  }

  static TimerKeyEncoder ofTimers(ExpressionEncoder<Object> keys, String name) {
    return (TimerKeyEncoder) lent(keys, name, null, null, () -> new TimerKeyEncoder(keys));
  }

  /** Until the task ends. */
  private static Object lent(
      ExpressionEncoder<Object> keys, String name, StructType key, StructType value, Supplier<Object> made) {
    TaskContext task = TaskContext.get();
    if (task == null || !((Object) keys.encoder() instanceof InternalRowEncoder group)) {
      return made.get();
    }
    if (IDLE.size() > MOST) {
      IDLE.clear();
    }
    Shape shape = new Shape(name, group.schema(), key, value);
    Queue<SoftReference<Object>> idle = IDLE.computeIfAbsent(shape, any -> new ConcurrentLinkedQueue<>());
    Object known = next(idle);
    Object encoder = known == null ? made.get() : known;
    TaskCompletionListener back = ended -> {
      if (!ended.isFailed() && !ended.isInterrupted()) {
        idle.add(new SoftReference<>(encoder));
      }
    };
    task.addTaskCompletionListener(back);
    return encoder;
  }

  /** NULL: there is none. */
  private static Object next(Queue<SoftReference<Object>> idle) {
    for (; ; ) {
      SoftReference<Object> first = idle.poll();
      Object encoder = first == null ? null : first.get();
      if (first == null || encoder != null) {
        return encoder;
      }
    }
  }
}
