package millstream.state;

import java.util.Collection;
import java.util.Iterator;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.streaming.MapState;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/**
 * The entries that are kept for one key.
 *
 * <pre>
 *   few entries:   in the operator's value state, read and written in one go
 *   many entries:  in map state, never all in memory: one by one (SpillingEach), or in chunks (Pile)
 * </pre>
 */
abstract class Spilling<E> {
  /** More entries than this are moved to map state: rewriting them all for each new one would cost more. */
  static final int INLINE = 16;

  final MapState<InternalRow, InternalRow> spill;
  /** How many entries map state has. */
  long spilled;

  boolean dirty;

  private final int fields;

  /** {@code fields}: how many an entry has in value state. */
  Spilling(MapState<InternalRow, InternalRow> spill, int fields) {
    this.spill = spill;
    this.fields = fields;
  }

  /** What it takes up in the operator's value state. */
  static StructType type(String entries, StructType entry) {
    return new StructType().add("spilled", DataTypes.LongType, false).add(entries, arrayOf(entry), false);
  }

  static ArrayType arrayOf(StructType entry) {
    return DataTypes.createArrayType(entry, false);
  }

  /** Those that are not in map state. */
  abstract Collection<E> few();

  /** An entry of value state. */
  abstract E loaded(InternalRow saved);

  abstract InternalRow saved(E entry);

  /** The entries, one by one; those in map state are read as they are asked for. */
  public abstract Iterator<E> iterator();

  /** Begins with what was saved, or with nothing. */
  public void load(InternalRow state) {
    forgetFew();
    spilled = 0;
    dirty = false;
    if (state != null) {
      spilled = state.getLong(0);
      ArrayData entries = state.getArray(1);
      for (int i = 0; i < entries.numElements(); i++) {
        keep(loaded(entries, i));
      }
    }
  }

  void forgetFew() {
    few().clear();
  }

  /** Adds an entry to the few. */
  void keep(E entry) {
    few().add(entry);
  }

  final E loaded(ArrayData entries, int at) {
    return loaded(entries.getStruct(at, fields));
  }

  public InternalRow save() {
    return new GenericInternalRow(new Object[] {spilled, savedFew()});
  }

  final ArrayData savedFew() {
    Object[] entries = new Object[few().size()];
    int at = 0;
    for (E entry : few()) {
      entries[at++] = saved(entry);
    }
    return new GenericArrayData(entries);
  }

  /** Whether what was saved is no longer right. */
  public final boolean dirty() {
    return dirty;
  }

  public final boolean isEmpty() {
    return spilled == 0 && few().isEmpty();
  }

  /** Removes all entries. */
  public final void clear() {
    if (spilled > 0) {
      spill.clear();
    }
    load(null);
  }
}
