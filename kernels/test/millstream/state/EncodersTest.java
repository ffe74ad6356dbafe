package millstream.state;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertSame;

import java.util.function.Function;
import millstream.row.InternalRowEncoder;
import millstream.row.Rows;
import org.apache.spark.TaskContext$;
import org.apache.spark.TaskContextImpl;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.encoders.ExpressionEncoder;
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.StateTypesEncoder;
import org.apache.spark.sql.types.StructType;
import org.junit.jupiter.api.Test;
import scala.Option;

final class EncodersTest {
  private static final StructType KEY = new StructType().add("name", "string");
  private static final StructType ROW = new StructType().add("n", "bigint", false);

  private static StateTypesEncoder<InternalRow> encoder(String name) {
    return Encoders.ofValue(keys(), name, ROW);
  }

  /** Each task is sent its own. */
  @SuppressWarnings("unchecked")
  private static ExpressionEncoder<Object> keys() {
    return (ExpressionEncoder<Object>) (ExpressionEncoder<?>) ExpressionEncoder.apply(new InternalRowEncoder(KEY));
  }

  private static <T> T inTask(Throwable failure, Function<TaskContextImpl, T> work) {
    TaskContextImpl task = TaskContext$.MODULE$.empty();
    TaskContext$.MODULE$.setTaskContext(task);
    try {
      T made = work.apply(task);
      if (failure != null) {
        task.markTaskFailed(failure);
      }
      task.markTaskCompleted(Option.apply(failure));
      return made;
    } finally {
      TaskContext$.MODULE$.unset();
    }
  }

  @Test
  void theNextTaskHasIt() {
    Object first = inTask(null, task -> encoder("next"));
    assertSame(first, inTask(null, task -> encoder("next")));
    assertNotSame(first, inTask(null, task -> encoder("other")));
  }

  @Test
  void noTwoTasksShareOne() {
    inTask(null, task -> {
      Object first = encoder("shared");
      Object second = encoder("shared");
      assertNotSame(first, second);
      return null;
    });
  }

  @Test
  void aTaskThatFailedKeepsIt() {
    Object first = inTask(new IllegalStateException("on purpose"), task -> encoder("failed"));
    assertNotSame(first, inTask(null, task -> encoder("failed")));
  }

  @Test
  void itEncodesTheNextTasksRows() {
    for (long n = 0; n < 3; n++) {
      InternalRow row = Rows.of(ROW, n);
      assertEquals(row, inTask(null, task -> encoder("rows").encodeValue(row).copy()));
    }
  }
}
