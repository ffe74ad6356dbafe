package millstream.state;

import millstream.row.RowForm;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.execution.metric.SQLMetric;
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.TransformWithStateKeyValueRowSchemaUtils;
import org.apache.spark.sql.execution.streaming.state.PrefixKeyScanStateEncoderSpec;
import org.apache.spark.sql.execution.streaming.state.StateStore;
import org.apache.spark.sql.execution.streaming.state.StateStoreIterator;
import org.apache.spark.sql.execution.streaming.state.UnsafeRowPair;
import org.apache.spark.sql.streaming.MapState;
import org.apache.spark.sql.types.StructType;
import scala.Tuple2;

/** The rows that a store has of a key: Spark's own map state, without what it makes for every task and seldom uses. */
final class StoredRows implements MapState<InternalRow, InternalRow> {
  private static final long serialVersionUID = 1L;

  private final transient StateStore store;
  private final String name;
  private final StructType atType;
  private final StructType valueType;
  private final transient RowForm key;
  private final transient RowForm prefix;
  private final transient RowForm at;
  private final transient RowForm whole;
  private final transient RowForm value;
  private final SQLMetric updated;
  private final SQLMetric removed;

  StoredRows(Opened opened, String name, StructType atType, StructType valueType) {
    this.store = opened.store();
    this.name = name;
    this.atType = atType;
    this.valueType = valueType;
    StructType wholeType = TransformWithStateKeyValueRowSchemaUtils.getCompositeKeySchema(opened.keyType(), atType);
    this.key = new RowForm(opened.keyType());
    this.prefix = new RowForm(new StructType().add("key", opened.keyType()));
    this.at = new RowForm(atType);
    this.whole = new RowForm(wholeType);
    this.value = new RowForm(valueType);
    opened.declare(name, wholeType, valueType, new PrefixKeyScanStateEncoderSpec(wholeType, 1));
    this.updated = opened.metric("numUpdatedStateRows");
    this.removed = opened.metric("numRemovedStateRows");
    opened.metric("numMapStateVars").add(1);
  }

  private UnsafeRow key() {
    return key.apply(Opened.key(name));
  }

  private UnsafeRow prefix() {
    return prefix.apply(new GenericInternalRow(new Object[] {key()}));
  }

  private UnsafeRow whole(InternalRow entry) {
    return whole.apply(new GenericInternalRow(new Object[] {key(), at.apply(entry)}));
  }

  @Override
  public boolean exists() {
    try (StateStoreIterator<UnsafeRowPair> found = store.prefixScan(prefix(), name)) {
      return found.hasNext();
    }
  }

  @Override
  public InternalRow getValue(InternalRow entry) {
    return Opened.own(store.get(whole(entry), name), valueType);
  }

  @Override
  public boolean containsKey(InternalRow entry) {
    return store.keyExists(whole(entry), name);
  }

  @Override
  public void updateValue(InternalRow entry, InternalRow row) {
    store.put(whole(entry), value.apply(row), name);
    updated.add(1);
  }

  /** Key and value of each entry. They are overwritten by the next one. */
  @Override
  public scala.collection.Iterator<Tuple2<InternalRow, InternalRow>> iterator() {
    StateStoreIterator<UnsafeRowPair> found = store.prefixScan(prefix(), name);
    return new scala.collection.AbstractIterator<>() {
      @Override
      public boolean hasNext() {
        return found.hasNext();
      }

      @Override
      public Tuple2<InternalRow, InternalRow> next() {
        UnsafeRowPair next = found.next();
        return new Tuple2<>(next.key().getStruct(1, atType.length()), Opened.own(next.value(), valueType));
      }
    };
  }

  @Override
  public scala.collection.Iterator<InternalRow> keys() {
    return iterator().map(Tuple2::_1);
  }

  @Override
  public scala.collection.Iterator<InternalRow> values() {
    return iterator().map(Tuple2::_2);
  }

  @Override
  public void removeKey(InternalRow entry) {
    store.remove(whole(entry), name);
    removed.add(1);
  }

  @Override
  public void clear() {
    for (scala.collection.Iterator<InternalRow> all = keys(); all.hasNext(); ) {
      removeKey(all.next());
    }
  }
}
