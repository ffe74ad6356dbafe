package millstream.state;

import millstream.metrics.Counts;
import org.apache.spark.sql.catalyst.encoders.ExpressionEncoder;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.TimerKeyEncoder;
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.statefulprocessor.ImplicitGroupingKeyTracker;
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.timers.TimerStateImpl;
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.timers.TimerStateUtils;
import org.apache.spark.sql.execution.streaming.state.StateStore;
import org.apache.spark.sql.streaming.StatefulProcessorHandle;
import org.apache.spark.sql.streaming.TimeMode;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import scala.Option;
import scala.Tuple2;

/**
 * Timers that are kept once, by time.
 *
 * <p>Spark keeps each a second time, by key, so that the timers of a key can be listed, and looks there before it
 * writes or deletes: six calls of the store for the life of a timer, one of which finds nothing, which is an exception
 * inside RocksDB. Nobody here lists timers, so that two calls do.
 */
public final class Timers extends TimerStateImpl {
  private final StateStore store;
  private final TimerKeyEncoder encoder;
  private final String byTime;
  private Counts counts;
  /** Whether Spark lets them ring. */
  private boolean sparks = true;

  private final UnsafeRow nothing =
      UnsafeProjection.create(new DataType[] {DataTypes.NullType}).apply(new GenericInternalRow(1));

  Timers(StateStore store, TimeMode mode, ExpressionEncoder<Object> keys) {
    super(store, mode, keys);
    this.store = store;
    this.byTime = TimerStateUtils.getTimerStateVarNames(mode.toString())._2();
    this.encoder = Encoders.ofTimers(keys, byTime);
  }

  /** NULL where there is no store: while the query is planned. */
  static Timers of(StatefulProcessorHandle handle, TimeMode mode) {
    Opened opened = Opened.of(handle);
    return opened == null ? null : new Timers(opened.store(), mode, opened.keys());
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
    store.put(encoded(at), nothing, byTime);
  }

  @Override
  public void deleteTimer(long at) {
    store.remove(encoded(at), byTime);
  }

  private UnsafeRow encoded(long at) {
    return encoder.encodeSecIndexKey(
        ImplicitGroupingKeyTracker.getImplicitKeyOption().get(), at);
  }

  /** From now on they ring only for callers that ask which are {@link #due}. */
  public void ringAtBarriers() {
    sparks = false;
  }

  /** In real time Spark looks for them after each row. */
  @Override
  public scala.collection.Iterator<Tuple2<Object, Object>> getExpiredTimersReusable(long until) {
    return sparks && begun(until) ? super.getExpiredTimersReusable(until) : scala.collection.Iterator$.MODULE$.empty();
  }

  /** {@code rung}: Spark looks only for later ones. */
  @Override
  public scala.collection.Iterator<Tuple2<Object, Object>> getExpiredTimers(long until, Option<Object> rung) {
    Option<Object> since = rung.isDefined() && begun((Long) rung.get()) ? rung : Option.empty();
    return begun(until) ? super.getExpiredTimers(until, since) : scala.collection.Iterator$.MODULE$.empty();
  }

  /** Spark's watermark stands at 0 until it first moves: timers before 1970 wait for that. */
  private static boolean begun(long watermark) {
    return watermark > 0;
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
