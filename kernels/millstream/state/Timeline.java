package millstream.state;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.streaming.MapState;
import org.apache.spark.sql.streaming.StatefulProcessorHandle;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/** What one key has, in the order of time. Nothing may be put or removed while it is read. */
public final class Timeline extends SpillingEach<Timeline.Entry> {
  /** A value at a time, in microseconds; {@code place} distinguishes those of one time, and orders them. */
  public record Entry(long time, long place, InternalRow value) {
    boolean before(Entry other) {
      return time < other.time || (time == other.time && place < other.place);
    }

    boolean at(Entry other) {
      return time == other.time && place == other.place;
    }
  }

  private final int width;
  private final List<Entry> few = new ArrayList<>();

  public Timeline(StructType valueType, MapState<InternalRow, InternalRow> spill) {
    super(spill, 3, INLINE);
    this.width = valueType.length();
  }

  /** What it takes up in the operator's value state. */
  public static StructType type(StructType valueType) {
    StructType entry = new StructType()
        .add("time", DataTypes.LongType, false)
        .add("place", DataTypes.LongType, false)
        .add("value", valueType, false);
    return type("entries", entry);
  }

  /** The map state for many entries. Time and place are its key as bytes, whose order is that of the numbers. */
  public static MapState<InternalRow, InternalRow> spill(
      StatefulProcessorHandle handle, String name, StructType valueType) {
    StructType key = new StructType().add("time_and_place", DataTypes.BinaryType, false);
    return StoredMap.of(handle, name, key, valueType);
  }

  @Override
  Collection<Entry> few() {
    return few;
  }

  @Override
  InternalRow value(Entry entry) {
    return entry.value();
  }

  @Override
  Entry entry(InternalRow saved, InternalRow value) {
    ByteBuffer key = ByteBuffer.wrap(saved.getBinary(0));
    long time = key.getLong() ^ Long.MIN_VALUE;
    return new Entry(time, key.getLong() ^ Long.MIN_VALUE, value.copy());
  }

  @Override
  Entry loaded(InternalRow saved) {
    return new Entry(saved.getLong(0), saved.getLong(1), saved.getStruct(2, width));
  }

  @Override
  InternalRow saved(Entry entry) {
    return new GenericInternalRow(new Object[] {entry.time(), entry.place(), entry.value()});
  }

  @Override
  void check(Entry one, Entry next) {
    if (!one.before(next)) {
      throw new IllegalStateException("the state store gave entries of a key out of order");
    }
  }

  /** When there are half as many as are moved to map state, they move back. */
  @Override
  public InternalRow save() {
    if (spilled > 0 && spilled <= INLINE / 2) {
      iterator().forEachRemaining(few::add);
      spilled = 0;
      few.forEach(entry -> spill.removeKey(key(entry)));
    }
    return super.save();
  }

  /** Adds an entry, or replaces the one that is there. Its value must be the caller's own copy. */
  public void put(Entry entry) {
    if (spilled > 0) {
      if (!spill.containsKey(key(entry))) {
        spilled++;
        dirty = true;
      }
      spill.updateValue(key(entry), entry.value());
      return;
    }
    dirty = true;
    int at = few.size();
    while (at > 0 && entry.before(few.get(at - 1))) {
      at--;
    }
    if (at > 0 && entry.at(few.get(at - 1))) {
      few.set(at - 1, entry);
    } else {
      few.add(at, entry);
      spillIfMany();
    }
  }

  public void remove(Entry entry) {
    dirty = true;
    if (spilled > 0) {
      spill.removeKey(key(entry));
      spilled--;
    } else {
      few.removeIf(entry::at);
    }
  }

  @Override
  InternalRow key(Entry entry) {
    // The first bit is turned: bytes are compared without a sign.
    byte[] bytes = ByteBuffer.allocate(16)
        .putLong(entry.time() ^ Long.MIN_VALUE)
        .putLong(entry.place() ^ Long.MIN_VALUE)
        .array();
    return new GenericInternalRow(new Object[] {bytes});
  }
}
