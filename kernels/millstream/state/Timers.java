package millstream.state;

import java.lang.reflect.Field;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import millstream.metrics.Counts;
import millstream.row.RowForm;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.catalyst.encoders.ExpressionEncoder;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.timers.TimerStateImpl;
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.timers.TimerStateUtils;
import org.apache.spark.sql.execution.streaming.state.StateStore;
import org.apache.spark.sql.streaming.StatefulProcessorHandle;
import org.apache.spark.sql.streaming.TimeMode;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.util.TaskCompletionListener;
import scala.Option;
import scala.Tuple2;

/**
 * Timers that are kept once, by time.
 *
 * <p>Spark keeps each a second time, by key, so that the timers of a key can be listed, and looks there before it
 * writes or deletes: six calls of the store for the life of a timer, one of which finds nothing, which is an exception
 * inside RocksDB. Nobody here lists timers, so that two calls do.
 *
 * <p>What Spark makes for them, it makes for every task. So they are kept when a task ends, and given the next store.
 */
public final class Timers extends TimerStateImpl {
  private record Kind(TimeMode mode, StructType key) {}

  /** More kinds than a process ever has, unless it runs job after job. */
  private static final int MOST = 100;

  private static final Map<Kind, Queue<Timers>> KEPT = new ConcurrentHashMap<>();
  private static final UnsafeRow NOTHING = nothing();

  private final RowForm key;
  private final RowForm timeAndKey;
  private final String byKey;
  private final String byTime;
  private StateStore store;
  private Counts counts;
  /** Whether Spark has looked for them row by row: then it keeps an iterator of the store in them. */
  private boolean scanned;
  /** Whether Spark lets them ring. */
  private boolean sparks = true;

  Timers(StateStore store, TimeMode mode, ExpressionEncoder<Object> keys) {
    super(store, mode, keys);
    this.store = store;
    this.key = new RowForm(keys.schema());
    this.timeAndKey = new RowForm(
        new StructType().add("expiryTimestampMs", DataTypes.LongType, false).add("key", keys.schema()));
    this.byKey = TimerStateUtils.getTimerStateVarNames(mode.toString())._1();
    this.byTime = TimerStateUtils.getTimerStateVarNames(mode.toString())._2();
  }

  /** A row with no value, as Spark writes it. */
  private static UnsafeRow nothing() {
    UnsafeRow row = new UnsafeRow(1);
    row.pointTo(new byte[16], 16);
    row.setNullAt(0);
    return row;
  }

  /** NULL where there is no store: while the query is planned. */
  static Timers of(StatefulProcessorHandle handle, TimeMode mode) {
    Opened opened = Opened.of(handle);
    if (opened == null) {
      return null;
    }
    if (KEPT.size() > MOST) {
      KEPT.clear();
    }
    Queue<Timers> kept = KEPT.computeIfAbsent(new Kind(mode, opened.keyType()), none -> new ConcurrentLinkedQueue<>());
    Timers before = kept.poll();
    Timers timers =
        before != null && before.reopened(opened) ? before : new Timers(opened.store(), mode, opened.keys());
    TaskContext task = TaskContext.get();
    if (task != null) {
      task.addTaskCompletionListener((TaskCompletionListener) ended -> timers.giveBack(kept));
    }
    return timers;
  }

  /** Whether they could be given another store, which has a place for them already. */
  private boolean reopened(Opened opened) {
    return opened.declared(byKey) && opened.declared(byTime) && use(opened.store());
  }

  /** Whether the store could be exchanged. */
  private boolean use(StateStore other) {
    try {
      Field sparks = TimerStateImpl.class.getDeclaredField("store");
      sparks.setAccessible(true);
      sparks.set(this, other);
      store = other;
      return true;
    } catch (ReflectiveOperationException another) {
      return false;
    }
  }

  private void giveBack(Queue<Timers> kept) {
    counts = null;
    sparks = true;
    if (!scanned && use(null)) {
      kept.add(this);
    }
  }

  /** Replaces those that the handle has for event time; NULL where there is no store. */
  public static Timers into(StatefulProcessorHandle handle) {
    Timers ours = of(handle, TimeMode.EventTime());
    if (ours != null) {
      Opened.of(handle).setTimers(ours);
    }
    return ours;
  }

  /** What counts the timers that are set from now on; NULL: nothing. */
  public void count(Counts counts) {
    this.counts = counts;
  }

  /** For the key that is set. */
  @Override
  public void registerTimer(long at) {
    if (counts != null) {
      counts.timersSet++;
    }
    store.put(encoded(at), NOTHING, byTime);
  }

  @Override
  public void deleteTimer(long at) {
    store.remove(encoded(at), byTime);
  }

  private UnsafeRow encoded(long at) {
    return timeAndKey.apply(new GenericInternalRow(new Object[] {at, key.apply(Opened.key(byTime))}));
  }

  /** From now on they ring only for callers that ask which are {@link #due}. */
  public void ringAtBarriers() {
    sparks = false;
  }

  /** In real time Spark looks for them after each row. */
  @Override
  public scala.collection.Iterator<Tuple2<Object, Object>> getExpiredTimersReusable(long until) {
    if (!sparks) {
      return scala.collection.Iterator$.MODULE$.empty();
    }
    scanned = true;
    return super.getExpiredTimersReusable(until);
  }

  /** Key and time of those that ring by then, in the order of time. */
  public scala.collection.Iterator<Tuple2<Object, Object>> due(long watermark) {
    return getExpiredTimers(watermark, Option.empty());
  }

  @Override
  public scala.collection.Iterator<Object> listTimers() {
    throw new UnsupportedOperationException("timers are not kept by key");
  }
}
