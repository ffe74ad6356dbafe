package millstream.state;

import java.util.ArrayList;
import java.util.Collection;
import java.util.Iterator;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.streaming.MapState;
import org.apache.spark.sql.streaming.StatefulProcessorHandle;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/**
 * The rows of one side of one key that are never removed: none is looked up, so they are kept many at a time.
 *
 * <pre>
 *   the last few rows:  in the operator's value state, read and written in one go
 *   those before them:  in map state, in chunks: 0, 1, …
 * </pre>
 */
public final class Pile extends Spilling<Held> implements Side {
  /** Rows that do not fit into value state are moved when an epoch ends, or earlier if there are this many. */
  private static final int CHUNK = 128;
  /** How many chunks may be held in memory, for an epoch's next row of the other side. */
  private static final int REMEMBERED = 8;

  private final int width;
  /** The last few. */
  private final List<Held> last = new ArrayList<>();
  /** The rows of the chunks; NULL: not read yet, or too many. */
  private List<Held> remembered;

  public Pile(StatefulProcessorHandle handle, String name, StructType rowType) {
    super(chunks(handle, name, rowType), 2);
    this.width = rowType.length();
  }

  private static MapState<InternalRow, InternalRow> chunks(
      StatefulProcessorHandle handle, String name, StructType rowType) {
    return StoredMap.of(
        handle,
        name,
        new StructType().add("chunk", DataTypes.LongType, false),
        new StructType().add("rows", arrayOf(entryType(rowType)), false));
  }

  /** What the pile takes up in the operator's value state. */
  public static StructType type(StructType rowType) {
    return type("rows", entryType(rowType));
  }

  private static StructType entryType(StructType rowType) {
    return Bag.weightType().add("row", rowType, false);
  }

  @Override
  Collection<Held> few() {
    return last;
  }

  @Override
  Held loaded(InternalRow saved) {
    return new Held(saved.getStruct(1, width), saved.getLong(0), 0);
  }

  @Override
  InternalRow saved(Held held) {
    return new GenericInternalRow(new Object[] {held.weight, held.row});
  }

  @Override
  public void load(InternalRow state) {
    super.load(state);
    remembered = null;
  }

  @Override
  public InternalRow save() {
    if (last.size() > INLINE) {
      write();
    }
    return super.save();
  }

  private void write() {
    spill.updateValue(number(spilled), new GenericInternalRow(new Object[] {savedFew()}));
    spilled++;
    if (remembered != null) {
      remembered.addAll(last);
    }
    last.clear();
  }

  private static InternalRow number(long chunk) {
    return new GenericInternalRow(new Object[] {chunk});
  }

  @Override
  public void add(InternalRow row, long weight) {
    last.add(new Held(row, weight, 0));
    dirty = true;
    if (last.size() == CHUNK) {
      write();
    }
  }

  /** The rows, one by one; a chunk is read when its first row is asked for. */
  @Override
  public Iterator<Held> iterator() {
    if (spilled == 0) {
      return last.iterator();
    }
    if (spilled > REMEMBERED) {
      remembered = null;
    } else if (remembered == null) {
      remembered = new ArrayList<>();
      for (long chunk = 0; chunk < spilled; chunk++) {
        read(chunk, remembered);
      }
    }
    return new Chunks(remembered == null ? 0 : spilled, remembered == null ? List.of() : remembered);
  }

  private void read(long chunk, List<Held> into) {
    ArrayData rows = spill.getValue(number(chunk)).getArray(0);
    for (int i = 0; i < rows.numElements(); i++) {
      into.add(loaded(rows, i));
    }
  }

  private final class Chunks implements Iterator<Held> {
    private long next;
    private Iterator<Held> rows;
    private boolean ending;

    Chunks(long next, List<Held> rows) {
      this.next = next;
      this.rows = rows.iterator();
    }

    @Override
    public boolean hasNext() {
      while (!rows.hasNext() && !ending) {
        if (next < spilled) {
          List<Held> chunk = new ArrayList<>();
          read(next++, chunk);
          rows = chunk.iterator();
        } else {
          rows = last.iterator();
          ending = true;
        }
      }
      return rows.hasNext();
    }

    @Override
    public Held next() {
      hasNext();
      return rows.next();
    }
  }
}
