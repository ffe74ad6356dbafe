package millstream.stage;

import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.streaming.MapState;
import org.apache.spark.sql.streaming.StatefulProcessorHandle;
import org.apache.spark.sql.streaming.TTLConfig;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/**
 * The rows of one side of one key that come and never go: nothing is looked for, so they are kept many at a time.
 *
 * <pre>
 *   the last few rows:  in the operator's value state, read and written in one go
 *   those before them:  in map state, in chunks: 0, 1, …
 * </pre>
 */
final class Pile implements Side {
  /** More rows than this do not stay in value state when an epoch ends, */
  private static final int INLINE = 16;
  /** and more than this do not wait until then. */
  private static final int CHUNK = 128;
  /** So many chunks may be held in memory, for an epoch's next row of the other side. */
  private static final int REMEMBERED = 8;

  private final int width;
  private final MapState<InternalRow, InternalRow> chunks;
  private final List<Held> last = new ArrayList<>();
  private long written;
  /** The rows of the chunks; NULL: not read yet, or too many. */
  private List<Held> remembered;

  private boolean dirty;

  Pile(StatefulProcessorHandle handle, String name, StructType rowType) {
    this.width = rowType.length();
    this.chunks =
        handle.getMapState(
            name,
            new InternalRowEncoder(new StructType().add("chunk", DataTypes.LongType, false)),
            new InternalRowEncoder(new StructType().add("rows", rows(rowType), false)),
            TTLConfig.NONE());
  }

  /** What the pile takes up in the operator's value state. */
  static StructType type(StructType rowType) {
    return new StructType().add("chunks", DataTypes.LongType, false).add("rows", rows(rowType), false);
  }

  private static ArrayType rows(StructType rowType) {
    return DataTypes.createArrayType(Bag.weightType().add("row", rowType, false), false);
  }

  @Override
  public void load(InternalRow state) {
    last.clear();
    remembered = null;
    dirty = false;
    written = state == null ? 0 : state.getLong(0);
    if (state != null) {
      read(state.getArray(1), last);
    }
  }

  private void read(ArrayData entries, List<Held> into) {
    for (int i = 0; i < entries.numElements(); i++) {
      InternalRow entry = entries.getStruct(i, 2);
      into.add(new Held(entry.getStruct(1, width), entry.getLong(0), 0));
    }
  }

  @Override
  public InternalRow save() {
    if (last.size() > INLINE) {
      write();
    }
    return new GenericInternalRow(new Object[] {written, entries()});
  }

  private ArrayData entries() {
    Object[] entries = new Object[last.size()];
    for (int i = 0; i < entries.length; i++) {
      entries[i] = new GenericInternalRow(new Object[] {last.get(i).weight, last.get(i).row});
    }
    return new GenericArrayData(entries);
  }

  private void write() {
    chunks.updateValue(number(written), new GenericInternalRow(new Object[] {entries()}));
    written++;
    if (remembered != null) {
      remembered.addAll(last);
    }
    last.clear();
  }

  private static InternalRow number(long chunk) {
    return new GenericInternalRow(new Object[] {chunk});
  }

  @Override
  public boolean dirty() {
    return dirty;
  }

  @Override
  public boolean isEmpty() {
    return written == 0 && last.isEmpty();
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
    if (written == 0) {
      return last.iterator();
    }
    if (written > REMEMBERED) {
      remembered = null;
    } else if (remembered == null) {
      remembered = new ArrayList<>();
      for (long chunk = 0; chunk < written; chunk++) {
        read(chunk, remembered);
      }
    }
    return new Chunks(remembered == null ? 0 : written, remembered == null ? List.of() : remembered);
  }

  private void read(long chunk, List<Held> into) {
    read(chunks.getValue(number(chunk)).getArray(0), into);
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
        if (next < written) {
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
