package millstream.stage;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.StateTypesEncoder;
import org.apache.spark.sql.execution.streaming.state.StateStore;
import org.apache.spark.sql.streaming.StatefulProcessorHandle;
import org.apache.spark.sql.streaming.TTLConfig;
import org.apache.spark.sql.streaming.ValueState;
import org.apache.spark.sql.types.StructType;

/**
 * The one row that an operator keeps of a key.
 *
 * <p>A look for a row that is not there is an exception inside RocksDB. To ask first whether it is there costs less than that, but is
 * one call more where it is. So it asks first if the key before had no row: new keys come in crowds, as when a window opens.
 */
final class Value {
  private final ValueState<InternalRow> state;
  private final StateStore store;
  private final StateTypesEncoder<InternalRow> encoder;
  private final String name;
  private boolean missed;

  private Value(
      ValueState<InternalRow> state, StateStore store, StateTypesEncoder<InternalRow> encoder, String name) {
    this.state = state;
    this.store = store;
    this.encoder = encoder;
    this.name = name;
  }

  static Value of(StatefulProcessorHandle handle, String name, StructType type) {
    InternalRowEncoder rows = new InternalRowEncoder(type);
    ValueState<InternalRow> state = handle.getValueState(name, rows, TTLConfig.NONE());
    Opened opened = Opened.of(handle);
    return opened == null
        ? new Value(state, null, null, name)
        : new Value(state, opened.store(), new StateTypesEncoder<>(opened.keys(), rows, name, false), name);
  }

  /** NULL: there is none. */
  InternalRow get() {
    if (missed && !store.keyExists(encoder.encodeGroupingKey(), name)) {
      return null;
    }
    InternalRow found = state.get();
    missed = found == null;
    return found;
  }

  void update(InternalRow row) {
    state.update(row);
  }

  void clear() {
    state.clear();
  }
}
