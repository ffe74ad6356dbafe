package millstream.state;

import millstream.row.BoundRowEncoder;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.execution.metric.SQLMetric;
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.CompositeKeyStateEncoder;
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.TransformWithStateKeyValueRowSchemaUtils;
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.statefulprocessor.TWSMetricsUtils;
import org.apache.spark.sql.execution.streaming.state.PrefixKeyScanStateEncoderSpec;
import org.apache.spark.sql.execution.streaming.state.StateStore;
import org.apache.spark.sql.execution.streaming.state.StateStoreIterator;
import org.apache.spark.sql.execution.streaming.state.UnsafeRowPair;
import org.apache.spark.sql.streaming.MapState;
import org.apache.spark.sql.streaming.StatefulProcessorHandle;
import org.apache.spark.sql.streaming.TTLConfig;
import org.apache.spark.sql.types.StructType;
import scala.Tuple2;
import scala.collection.Iterator;
import scala.collection.immutable.Map;

/**
 * Rows of each key by keys of their own, on disk just as Spark's own map state, by an encoder that outlives the task.
 */
final class StoredMap implements MapState<InternalRow, InternalRow> {
  private static final long serialVersionUID = 1L;

  private final transient StateStore store;
  private final transient CompositeKeyStateEncoder<InternalRow, InternalRow> encoder;
  private final transient Map<String, SQLMetric> metrics;
  private final String name;

  private StoredMap(Opened opened, String name, StructType key, StructType value) {
    this.store = opened.store();
    this.encoder = Encoders.ofMap(opened.keys(), name, key, value);
    this.metrics = opened.metrics();
    this.name = name;
    StructType keys = TransformWithStateKeyValueRowSchemaUtils.getCompositeKeySchema(
        opened.keys().schema(), BoundRowEncoder.of(key).schema());
    StructType values = BoundRowEncoder.of(value).schema();
    store.createColFamilyIfAbsent(name, keys, values, new PrefixKeyScanStateEncoderSpec(keys, 1), false, false);
    TWSMetricsUtils.incrementMetric(metrics, "numMapStateVars", 1);
  }

  /** Of these types. */
  static MapState<InternalRow, InternalRow> of(
      StatefulProcessorHandle handle, String name, StructType key, StructType value) {
    Opened opened = Opened.of(handle);
    return opened == null
        ? handle.getMapState(name, BoundRowEncoder.of(key), BoundRowEncoder.of(value), TTLConfig.NONE())
        : new StoredMap(opened, name, key, value);
  }

  private StateStoreIterator<UnsafeRowPair> scan() {
    return store.prefixScan(encoder.encodeGroupingKey(), name);
  }

  @Override
  public boolean exists() {
    StateStoreIterator<UnsafeRowPair> rows = scan();
    boolean found = rows.hasNext();
    rows.close();
    return found;
  }

  @Override
  public InternalRow getValue(InternalRow key) {
    UnsafeRow found = store.get(encoder.encodeCompositeKey(key), name);
    return found == null ? null : encoder.decodeValue(found);
  }

  @Override
  public boolean containsKey(InternalRow key) {
    return getValue(key) != null;
  }

  @Override
  public void updateValue(InternalRow key, InternalRow value) {
    UnsafeRow encoded = encoder.encodeValue(value);
    store.put(encoder.encodeCompositeKey(key), encoded, name);
    TWSMetricsUtils.incrementMetric(metrics, "numUpdatedStateRows", 1);
  }

  @Override
  public Iterator<Tuple2<InternalRow, InternalRow>> iterator() {
    return scan().map(row -> new Tuple2<>(encoder.decodeCompositeKey(row.key()), encoder.decodeValue(row.value())));
  }

  @Override
  public Iterator<InternalRow> keys() {
    return iterator().map(Tuple2::_1);
  }

  @Override
  public Iterator<InternalRow> values() {
    return iterator().map(Tuple2::_2);
  }

  @Override
  public void removeKey(InternalRow key) {
    store.remove(encoder.encodeCompositeKey(key), name);
    TWSMetricsUtils.incrementMetric(metrics, "numRemovedStateRows", 1);
  }

  @Override
  public void clear() {
    Iterator<InternalRow> keys = keys();
    while (keys.hasNext()) {
      removeKey(keys.next());
    }
  }
}
