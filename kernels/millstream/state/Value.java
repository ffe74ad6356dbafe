package millstream.state;

import millstream.row.BoundRowEncoder;
import org.apache.spark.sql.catalyst.InternalRow;
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
  private boolean missed;

  public Value(StatefulProcessorHandle handle, String name, StructType type) {
    Opened opened = Opened.of(handle);
    state = opened == null
        ? handle.getValueState(name, BoundRowEncoder.of(type), TTLConfig.NONE())
        : new StoredValue(opened, name, type);
  }

  /** NULL: there is none. */
  public InternalRow get() {
    if (missed && !state.exists()) {
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
