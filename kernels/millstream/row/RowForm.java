package millstream.row;

import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.util.TaskCompletionListener;

/**
 * Brings rows of one type into Spark's binary form. The row that it gives is overwritten by the next one.
 *
 * <p>Spark generates code for that, and then finds that it has been compiled before: for the state variables of a task,
 * with small epochs, that took longer than all that was done with the state. So what does it is kept when a task ends,
 * for the tasks to come.
 */
public final class RowForm {
  /** More types than a process ever has, unless it runs job after job. */
  private static final int MOST = 1000;
  /** The bytes of a row after which the buffer that has grown with it is not kept. */
  private static final int LARGE = 1 << 20;

  private static final Map<StructType, Queue<UnsafeProjection>> KEPT = new ConcurrentHashMap<>();

  private final StructType type;
  private UnsafeProjection projection;
  private int largest;

  public RowForm(StructType type) {
    this.type = type;
  }

  public UnsafeRow apply(InternalRow row) {
    if (projection == null) {
      projection = taken();
    }
    UnsafeRow formed = projection.apply(row);
    largest = Math.max(largest, formed.getSizeInBytes());
    return formed;
  }

  private UnsafeProjection taken() {
    if (KEPT.size() > MOST) {
      KEPT.clear();
    }
    Queue<UnsafeProjection> kept = KEPT.computeIfAbsent(type, none -> new ConcurrentLinkedQueue<>());
    TaskContext task = TaskContext.get();
    if (task != null) {
      task.addTaskCompletionListener((TaskCompletionListener) ended -> giveBack(kept));
    }
    UnsafeProjection found = kept.poll();
    return found == null ? UnsafeProjection.create(type) : found;
  }

  private void giveBack(Queue<UnsafeProjection> kept) {
    if (largest < LARGE) {
      kept.add(projection);
    }
    projection = null;
  }
}
