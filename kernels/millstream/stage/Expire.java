package millstream.stage;

import java.util.ArrayList;
import java.util.Collections;
import java.util.Iterator;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.streaming.StatefulProcessorHandle;
import org.apache.spark.sql.types.StructType;

/**
 * Adds rows, and takes each back when its time is over.
 *
 * <p>The key is that time, in milliseconds: rows that leave together are kept together, under one timer.
 * Rows without a time have none, and are late.
 */
final class Expire extends Operator {
  private static final long serialVersionUID = 1L;

  private final StructType type;
  private final int end;
  private transient StatefulProcessorHandle handle;
  private transient Value state;
  private transient Bag rows;

  Expire(OperatorSpec spec) {
    super(spec.name(), false);
    this.type = spec.input(0);
    this.end = spec.keySlots()[0];
  }

  static Expire of(OperatorSpec spec) {
    return new Expire(spec);
  }

  @Override
  StructType outputType() {
    return type;
  }

  @Override
  void open(StatefulProcessorHandle handle) {
    this.handle = handle;
    state = new Value(handle, name + "_rows", Bag.type(type));
    rows = new Bag(this, type, Bag.spill(handle, name + "_more", type));
  }

  @Override
  Iterator<Change> process(InternalRow key, Changes changes) {
    if (key.isNullAt(end) || watermark >= key.getLong(end)) {
      while (changes.next()) {
        late(changes.weight());
      }
      return Collections.emptyIterator();
    }
    InternalRow saved = state.get();
    if (saved == null) {
      handle.registerTimer(key.getLong(end));
    }
    rows.load(saved);
    List<Change> out = new ArrayList<>();
    while (changes.next()) {
      InternalRow row = changes.payload().copy();
      rows.add(row, changes.weight());
      out.add(new Change(row, changes.weight()));
    }
    state.update(rows.save());
    return out.iterator();
  }

  @Override
  Iterator<Change> expired(InternalRow key, long at) {
    InternalRow saved = state.get();
    if (saved == null) {
      return Collections.emptyIterator();
    }
    rows.load(saved);
    List<Change> out = new ArrayList<>();
    for (Iterator<Held> each = rows.iterator(); each.hasNext(); ) {
      Held held = each.next();
      out.add(new Change(held.row, -held.weight));
    }
    rows.clear();
    state.clear();
    return out.iterator();
  }
}
