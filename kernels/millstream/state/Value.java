package millstream.state;

import millstream.row.BoundRowEncoder;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.StateTypesEncoder;
import org.apache.spark.sql.execution.streaming.state.StateStore;
import org.apache.spark.sql.streaming.StatefulProcessorHandle;
import org.apache.spark.sql.streaming.TTLConfig;
import org.apache.spark.sql.streaming.ValueState;
import org.apache.spark.sql.types.StructType;

/**
 * The one row that an operator keeps for a key.
 *
 * <p>Looking for a row that is not there causes an exception inside RocksDB. Asking first whether it is there costs
 * less than that, but is an extra call if it is. So it asks first if the key before had no row: new keys come in
 * crowds, as when a window opens.
 */
public final class Value {
  private final ValueState<InternalRow> state;
  private final StateStore store;
  private final StateTypesEncoder<InternalRow> encoder;
  private final String name;
  private boolean missed;

  public Value(StatefulProcessorHandle handle, String name, StructType type) {
    BoundRowEncoder rows = BoundRowEncoder.of(type);
    Opened opened = Opened.of(handle);
    this.state = handle.getValueState(name, rows, TTLConfig.NONE());
    this.store = opened == null ? null : opened.store();
    this.encoder = opened == null ? null : new StateTypesEncoder<>(opened.keys(), rows, name, false);
    this.name = name;
  }

  /** NULL: there is none. */
  public InternalRow get() {
    if (missed && store != null && !store.keyExists(encoder.encodeGroupingKey(), name)) {
      return null;
    }
    InternalRow found = state.get();
    missed = found == null;
    return found;
  }

  public void update(InternalRow row) {
    state.update(row);
  }

  public void clear() {
    state.clear();
  }
}
