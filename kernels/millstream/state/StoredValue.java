package millstream.state;

import millstream.row.BoundRowEncoder;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.execution.metric.SQLMetric;
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.StateTypesEncoder;
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.statefulprocessor.TWSMetricsUtils;
import org.apache.spark.sql.execution.streaming.state.NoPrefixKeyStateEncoderSpec;
import org.apache.spark.sql.execution.streaming.state.StateStore;
import org.apache.spark.sql.streaming.ValueState;
import org.apache.spark.sql.types.StructType;
import scala.collection.immutable.Map;

/** A row of each key, on disk just as Spark's own value state, by an encoder that outlives the task. */
final class StoredValue implements ValueState<InternalRow> {
  private static final long serialVersionUID = 1L;

  private final transient StateStore store;
  private final transient StateTypesEncoder<InternalRow> encoder;
  private final transient Map<String, SQLMetric> metrics;
  private final String name;

  StoredValue(Opened opened, String name, StructType type) {
    this.store = opened.store();
    this.encoder = Encoders.ofValue(opened.keys(), name, type);
    this.metrics = opened.metrics();
    this.name = name;
    StructType key = opened.keys().schema();
    StructType value = BoundRowEncoder.of(type).schema();
    store.createColFamilyIfAbsent(name, key, value, new NoPrefixKeyStateEncoderSpec(key), false, false);
    TWSMetricsUtils.incrementMetric(metrics, "numValueStateVars", 1);
  }

  /** The key that is set, as it is written; good until it is asked for the next. */
  UnsafeRow key() {
    return encoder.encodeGroupingKey();
  }

  @Override
  public boolean exists() {
    return store.keyExists(key(), name);
  }

  @Override
  public InternalRow get() {
    UnsafeRow found = store.get(key(), name);
    return found == null ? null : encoder.decodeValue(found);
  }

  @Override
  public void update(InternalRow row) {
    UnsafeRow value = encoder.encodeValue(row);
    store.put(key(), value, name);
    TWSMetricsUtils.incrementMetric(metrics, "numUpdatedStateRows", 1);
  }

  @Override
  public void clear() {
    store.remove(key(), name);
    TWSMetricsUtils.incrementMetric(metrics, "numRemovedStateRows", 1);
  }
}
