package millstream.state;

import millstream.row.RowForm;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.execution.metric.SQLMetric;
import org.apache.spark.sql.execution.streaming.state.NoPrefixKeyStateEncoderSpec;
import org.apache.spark.sql.execution.streaming.state.StateStore;
import org.apache.spark.sql.streaming.ValueState;
import org.apache.spark.sql.types.StructType;

/** The row that a store has of a key: Spark's own value state, without what it makes for every task and seldom uses. */
final class StoredRow implements ValueState<InternalRow> {
  private static final long serialVersionUID = 1L;

  private final transient StateStore store;
  private final String name;
  private final StructType type;
  private final transient RowForm key;
  private final transient RowForm value;
  private final SQLMetric updated;
  private final SQLMetric removed;

  StoredRow(Opened opened, String name, StructType type) {
    this.store = opened.store();
    this.name = name;
    this.type = type;
    this.key = new RowForm(opened.keyType());
    this.value = new RowForm(type);
    opened.declare(name, opened.keyType(), type, new NoPrefixKeyStateEncoderSpec(opened.keyType()));
    this.updated = opened.metric("numUpdatedStateRows");
    this.removed = opened.metric("numRemovedStateRows");
    opened.metric("numValueStateVars").add(1);
  }

  private UnsafeRow key() {
    return key.apply(Opened.key(name));
  }

  @Override
  public boolean exists() {
    return store.keyExists(key(), name);
  }

  @Override
  public InternalRow get() {
    return Opened.own(store.get(key(), name), type);
  }

  @Override
  public void update(InternalRow row) {
    store.put(key(), value.apply(row), name);
    updated.add(1);
  }

  @Override
  public void clear() {
    store.remove(key(), name);
    removed.add(1);
  }
}
