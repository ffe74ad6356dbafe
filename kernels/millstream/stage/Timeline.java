package millstream.stage;

import java.nio.ByteBuffer;
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
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/**
 * What one key has, in the order of time.
 *
 * <pre>
 *   few entries:   in the operator's value state, read and written in one go
 *   many entries:  each under its time in map state, which is read in order, from the oldest on
 * </pre>
 */
final class Timeline {
  /** More entries than this are moved to map state; when there are half as many, they move back. */
  private static final int INLINE = 16;

  /** A value at a time, in microseconds; {@code place} tells those of one time apart, and puts them in order. */
  record Entry(long time, long place, InternalRow value) {
    boolean before(Entry other) {
      return time < other.time || (time == other.time && place < other.place);
    }

    boolean at(Entry other) {
      return time == other.time && place == other.place;
    }
  }

  private final int width;
  private final MapState<InternalRow, InternalRow> spill;
  private final List<Entry> entries = new ArrayList<>();
  private long spilled;
  private boolean dirty;

  Timeline(StructType valueType, MapState<InternalRow, InternalRow> spill) {
    this.width = valueType.length();
    this.spill = spill;
  }

  /** What it takes up in the operator's value state. */
  static StructType type(StructType valueType) {
    StructType entry =
        new StructType()
            .add("time", DataTypes.LongType, false)
            .add("place", DataTypes.LongType, false)
            .add("value", valueType, false);
    return new StructType()
        .add("spilled", DataTypes.LongType, false)
        .add("entries", DataTypes.createArrayType(entry, false), false);
  }

  /** The map state for many entries. Time and place are its key as bytes, whose order is that of the numbers. */
  static MapState<InternalRow, InternalRow> spill(StatefulProcessorHandle handle, String name, StructType valueType) {
    StructType key = new StructType().add("time_and_place", DataTypes.BinaryType, false);
    return handle.getMapState(
        name, new InternalRowEncoder(key), new InternalRowEncoder(valueType), TTLConfig.NONE());
  }

  void load(InternalRow state) {
    entries.clear();
    spilled = 0;
    dirty = false;
    if (state == null) {
      return;
    }
    spilled = state.getLong(0);
    ArrayData saved = state.getArray(1);
    for (int i = 0; i < saved.numElements(); i++) {
      InternalRow entry = saved.getStruct(i, 3);
      entries.add(new Entry(entry.getLong(0), entry.getLong(1), entry.getStruct(2, width)));
    }
  }

  InternalRow save() {
    if (spilled > 0 && spilled <= INLINE / 2) {
      moveBack();
    }
    Object[] saved = new Object[entries.size()];
    for (int i = 0; i < saved.length; i++) {
      Entry entry = entries.get(i);
      saved[i] = new GenericInternalRow(new Object[] {entry.time(), entry.place(), entry.value()});
    }
    return new GenericInternalRow(new Object[] {spilled, new GenericArrayData(saved)});
  }

  private void moveBack() {
    iterator().forEachRemaining(entries::add);
    spilled = 0;
    entries.forEach(entry -> spill.removeKey(key(entry)));
  }

  boolean dirty() {
    return dirty;
  }

  boolean isEmpty() {
    return spilled == 0 && entries.isEmpty();
  }

  /** Adds an entry, or puts it in the place of the one that is there. Its value must be the caller's own copy. */
  void put(Entry entry) {
    if (spilled > 0) {
      if (!spill.containsKey(key(entry))) {
        spilled++;
        dirty = true;
      }
      spill.updateValue(key(entry), entry.value());
      return;
    }
    dirty = true;
    int at = entries.size();
    while (at > 0 && entry.before(entries.get(at - 1))) {
      at--;
    }
    if (at > 0 && entry.at(entries.get(at - 1))) {
      entries.set(at - 1, entry);
    } else {
      entries.add(at, entry);
      spillIfMany();
    }
  }

  private void spillIfMany() {
    if (entries.size() <= INLINE) {
      return;
    }
    entries.forEach(entry -> spill.updateValue(key(entry), entry.value()));
    spilled = entries.size();
    entries.clear();
  }

  void remove(Entry entry) {
    dirty = true;
    if (spilled > 0) {
      spill.removeKey(key(entry));
      spilled--;
    } else {
      entries.removeIf(entry::at);
    }
  }

  /** The entries from the oldest on. Nothing may be put or removed before the caller is done with it. */
  Iterator<Entry> iterator() {
    return spilled > 0 ? new Spilled(spill.iterator()) : entries.iterator();
  }

  private static InternalRow key(Entry entry) {
    // The first bit is turned: bytes are compared without a sign.
    byte[] bytes =
        ByteBuffer.allocate(16)
            .putLong(entry.time() ^ Long.MIN_VALUE)
            .putLong(entry.place() ^ Long.MIN_VALUE)
            .array();
    return new GenericInternalRow(new Object[] {bytes});
  }

  private static final class Spilled implements Iterator<Entry> {
    private final scala.collection.Iterator<scala.Tuple2<InternalRow, InternalRow>> saved;
    private Entry last;

    Spilled(scala.collection.Iterator<scala.Tuple2<InternalRow, InternalRow>> saved) {
      this.saved = saved;
    }

    @Override
    public boolean hasNext() {
      return saved.hasNext();
    }

    @Override
    public Entry next() {
      scala.Tuple2<InternalRow, InternalRow> pair = saved.next();
      ByteBuffer key = ByteBuffer.wrap(pair._1().getBinary(0));
      long time = key.getLong() ^ Long.MIN_VALUE;
      Entry entry = new Entry(time, key.getLong() ^ Long.MIN_VALUE, pair._2().copy());
      if (last != null && !last.before(entry)) {
        throw new IllegalStateException("the state store gave entries of a key out of order");
      }
      last = entry;
      return entry;
    }
  }
}
