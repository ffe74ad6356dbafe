package millstream.state;

import java.lang.reflect.Field;
import java.lang.reflect.Method;
import millstream.row.BoundRowEncoder;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.encoders.ExpressionEncoder;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.execution.metric.SQLMetric;
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.statefulprocessor.ImplicitGroupingKeyTracker;
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.statefulprocessor.StatefulProcessorHandleImpl;
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.timers.TimerStateImpl;
import org.apache.spark.sql.execution.streaming.state.KeyStateEncoderSpec;
import org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider;
import org.apache.spark.sql.execution.streaming.state.StateStore;
import org.apache.spark.sql.streaming.MapState;
import org.apache.spark.sql.streaming.StatefulProcessorHandle;
import org.apache.spark.sql.streaming.TTLConfig;
import org.apache.spark.sql.streaming.ValueState;
import org.apache.spark.sql.types.StructType;
import scala.Option;
import scala.collection.immutable.Map;

/**
 * What a handle holds but does not expose, in a task: the store of its state, how keys are written there, and its
 * timers.
 */
public final class Opened {
  private static final byte TIMERS_MADE = 4;

  private final StatefulProcessorHandleImpl handle;
  private final StateStore store;
  private final ExpressionEncoder<Object> keys;

  @SuppressWarnings("unchecked")
  private Opened(StatefulProcessorHandleImpl handle) {
    this.handle = handle;
    this.store = (StateStore) get("store");
    this.keys = (ExpressionEncoder<Object>) get("keyEncoder");
  }

  /** NULL where there is no store: while the query is planned. */
  public static Opened of(StatefulProcessorHandle handle) {
    return handle instanceof StatefulProcessorHandleImpl opened ? new Opened(opened) : null;
  }

  /** A state variable that holds a row per key. */
  static ValueState<InternalRow> row(StatefulProcessorHandle handle, String name, StructType type) {
    Opened opened = of(handle);
    return opened == null
        ? handle.getValueState(name, BoundRowEncoder.of(type), TTLConfig.NONE())
        : new StoredRow(opened, name, type);
  }

  /** A state variable that holds rows per key, found by rows of the first type. */
  static MapState<InternalRow, InternalRow> rows(
      StatefulProcessorHandle handle, String name, StructType atType, StructType type) {
    Opened opened = of(handle);
    return opened == null
        ? handle.getMapState(name, BoundRowEncoder.of(atType), BoundRowEncoder.of(type), TTLConfig.NONE())
        : new StoredRows(opened, name, atType, type);
  }

  public StateStore store() {
    return store;
  }

  ExpressionEncoder<Object> keys() {
    return keys;
  }

  StructType keyType() {
    return keys.schema();
  }

  /** The key whose rows are at hand. */
  static InternalRow key(String variable) {
    Option<Object> key = ImplicitGroupingKeyTracker.getImplicitKeyOption();
    if (key.isEmpty()) {
      throw new IllegalStateException("state " + variable + " was asked for outside of a key's rows");
    }
    return (InternalRow) key.get();
  }

  /** The same row, which stays as it is when the store is asked for the next one; NULL: there is none. */
  static InternalRow own(UnsafeRow row, StructType type) {
    if (row == null) {
      return null;
    }
    UnsafeRow own = new UnsafeRow(type.length());
    own.pointTo(row.getBaseObject(), row.getBaseOffset(), row.getSizeInBytes());
    return own;
  }

  /** Makes a place in the store for a state variable, unless an earlier epoch did. */
  void declare(String variable, StructType key, StructType value, KeyStateEncoderSpec form) {
    if (!declared(variable)) {
      store.createColFamilyIfAbsent(variable, key, value, form, false, false);
    }
  }

  /** Whether the place is there, and what writes to it: Spark would make the latter again, and throw it away. */
  boolean declared(String variable) {
    try {
      if (store instanceof RocksDBStateStoreProvider.RocksDBStateStore rocks) {
        RocksDBStateStoreProvider provider = rocks.creatingProvider();
        return provider.rocksDB().checkColFamilyExists(variable)
            && provider
                .org$apache$spark$sql$execution$streaming$state$RocksDBStateStoreProvider$$keyValueEncoderMap()
                .containsKey(variable);
      }
    } catch (LinkageError moved) {
      // Another Spark: it is done as Spark does it.
    }
    return false;
  }

  /** Spark's figures of a stateful operator: rows of state that are written are counted there. */
  @SuppressWarnings("unchecked")
  Map<String, SQLMetric> metrics() {
    return (Map<String, SQLMetric>) get("metrics");
  }

  /** One of them. */
  SQLMetric metric(String name) {
    Option<SQLMetric> found = metrics().get(name);
    return found.isDefined() ? found.get() : new SQLMetric("sum", 0L);
  }

  /** Puts others in the place of its own, which it makes when it is first asked for them. */
  void setTimers(TimerStateImpl timers) {
    try {
      Method made = StatefulProcessorHandleImpl.class.getDeclaredMethod("timerState");
      made.setAccessible(true);
      field("timerState").set(handle, timers);
      if (!takenForMade(true) || made.invoke(handle) != timers) {
        takenForMade(false);
        made.invoke(handle);
        field("timerState").set(handle, timers);
      }
    } catch (ReflectiveOperationException error) {
      throw elsewhere("timers", error);
    }
  }

  /** Scala's mark that timers have been made: they are not, then, to be thrown away. False: there is none. */
  private boolean takenForMade(boolean taken) {
    try {
      Field marks = field("bitmap$0");
      byte others = (byte) (marks.getByte(handle) & ~TIMERS_MADE);
      marks.setByte(handle, (byte) (others | (taken ? TIMERS_MADE : 0)));
      return true;
    } catch (ReflectiveOperationException | IllegalArgumentException another) {
      return false;
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
