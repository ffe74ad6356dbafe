package millstream.state;

import java.util.List;
import millstream.row.BoundRowEncoder;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.execution.metric.SQLMetric;
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.statefulprocessor.TWSMetricsUtils;
import org.apache.spark.sql.execution.streaming.state.StateStore;
import org.apache.spark.sql.streaming.StatefulProcessorHandle;
import org.apache.spark.sql.streaming.TTLConfig;
import org.apache.spark.sql.types.StructType;
import scala.collection.Iterator;
import scala.collection.immutable.Map;

/**
 * The one row that an operator keeps of each key, for those that have many keys in hand: rows are read in one go, and
 * written without setting the key first. On disk it is as {@link Value}.
 */
public final class Values {
  private final String name;
  private final StateStore store;
  private final StoredValue state;
  private final UnsafeProjection projection;
  private final Map<String, SQLMetric> metrics;

  public Values(StatefulProcessorHandle handle, String name, StructType type) {
    Opened opened = Opened.of(handle);
    if (opened == null) {
      handle.getValueState(name, BoundRowEncoder.of(type), TTLConfig.NONE());
    }
    this.name = name;
    this.state = opened == null ? null : new StoredValue(opened, name, type);
    this.store = opened == null ? null : opened.store();
    this.projection = opened == null ? null : UnsafeProjection.create(type);
    this.metrics = opened == null ? null : opened.metrics();
  }

  /** The key that is set, as it is written; may be kept. */
  public UnsafeRow key() {
    return state.key().copy();
  }

  /** The rows of these keys, in their order; NULL: there is none. Each is only good until the next step. */
  public Iterator<UnsafeRow> get(List<UnsafeRow> keys) {
    return store.multiGet(keys.toArray(UnsafeRow[]::new), name);
  }

  public void put(UnsafeRow key, InternalRow row) {
    store.put(key, projection.apply(row), name);
    TWSMetricsUtils.incrementMetric(metrics, "numUpdatedStateRows", 1);
  }

  public void remove(UnsafeRow key) {
    store.remove(key, name);
    TWSMetricsUtils.incrementMetric(metrics, "numRemovedStateRows", 1);
  }
}
