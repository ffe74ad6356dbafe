package millstream.stage;

import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.streaming.MapState;
import org.apache.spark.sql.streaming.StatefulProcessorHandle;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/**
 * The first rows of each group, in an order; only what changed among them is sent.
 *
 * <pre>
 *   head   the first rows with their counts, sorted, in value state: at least as many as are wanted
 *   all    every row with its count, in map state: used once there are more than fit the head,
 *          read only when the head no longer has enough
 * </pre>
 *
 * <p>Of rows that are never taken back, those that are wanted are kept, and no others.
 */
final class Top extends Operator {
  private static final long serialVersionUID = 1L;

  private final StructType rowType;
  private final RowOrder order;
  private final int wanted;
  private final boolean ranked;
  private final boolean appendOnly;
  private final GroupState group;
  /** More rows than this do not stay in the head. */
  private final int room;

  private transient MapState<InternalRow, InternalRow> all;
  private transient UnsafeProjection own;
  private transient TreeMap<InternalRow, Long> head;
  /** How many rows the head holds, doubles counted. */
  private transient long held;

  private transient boolean complete;

  Top(OperatorSpec spec) {
    super(spec.name(), spec.upserts());
    this.rowType = spec.input(0);
    this.order = new RowOrder(rowType, spec.json().get("order"), spec.json().get("fields").asInt());
    this.wanted = spec.json().get("count").asInt();
    this.ranked = spec.flag("ranked");
    this.appendOnly = spec.flag("append_only");
    this.group = GroupState.of(spec, "after_ms");
    this.room = 2 * wanted + 16;
  }

  static Operator of(OperatorSpec spec) {
    boolean one = spec.json().get("count").asInt() == 1 && !spec.flag("ranked");
    return one && spec.flag("append_only") ? new Best(spec) : new Top(spec);
  }

  @Override
  StructType outputType() {
    return ranked ? new StructType().add("row", rowType, false).add("rank", "bigint", false) : rowType;
  }

  @Override
  void open(StatefulProcessorHandle handle) {
    StructType entry = Bag.weightType().add("row", rowType, false);
    StructType type =
        new StructType()
            .add("complete", DataTypes.BooleanType, false)
            .add("head", DataTypes.createArrayType(entry, false), false);
    group.open(handle, name + "_head", type);
    if (!appendOnly) {
      all = Bag.spill(handle, name + "_rows", rowType);
      own = UnsafeProjection.create(rowType);
    }
  }

  /** The group is closed: no row of it will come or go. */
  @Override
  Iterator<Change> expired(InternalRow key, long at) {
    InternalRow saved = group.load();
    complete = saved == null || saved.getBoolean(0);
    drop();
    return Collections.emptyIterator();
  }

  private void drop() {
    group.save(null);
    if (!complete) {
      all.clear();
    }
  }

  @Override
  Iterator<Change> process(InternalRow key, Changes changes) {
    load(group.load(key, ended));
    List<InternalRow> before = first();
    if (appendOnly) {
      while (changes.next()) {
        held = First.offer(head, held, wanted, changes.payload(), changes.weight());
      }
    } else {
      apply(changes);
    }
    List<InternalRow> after = first();
    List<Change> out = ranked || wanted == 1 ? placeByPlace(before, after) : difference(before, after);
    // Of a stream nothing but the first rows is kept: if those are the same, so is the state.
    if (group.ends()) {
      drop();
    } else if (!appendOnly || !out.isEmpty()) {
      save();
    }
    return out.iterator();
  }

  @Override
  boolean combines() {
    return appendOnly;
  }

  /** Of rows that are never taken back, a task sends on those that are among its own first ones. */
  @Override
  Partial partial() {
    if (own == null) {
      own = UnsafeProjection.create(rowType);
    }
    return new First(order, wanted, own);
  }

  private void load(InternalRow saved) {
    head = new TreeMap<>(order);
    held = 0;
    complete = saved == null || saved.getBoolean(0);
    if (saved == null) {
      return;
    }
    ArrayData entries = saved.getArray(1);
    for (int i = 0; i < entries.numElements(); i++) {
      InternalRow entry = entries.getStruct(i, 2);
      put(entry.getStruct(1, rowType.length()), entry.getLong(0));
    }
  }

  private void save() {
    if (head.isEmpty()) {
      group.save(null);
      return;
    }
    List<Object> entries = new ArrayList<>();
    head.forEach((row, count) -> entries.add(new GenericInternalRow(new Object[] {count, row})));
    group.save(new GenericInternalRow(new Object[] {complete, new GenericArrayData(entries.toArray())}));
  }

  /** The rows that are wanted. */
  private List<InternalRow> first() {
    List<InternalRow> rows = new ArrayList<>();
    for (Map.Entry<InternalRow, Long> entry : head.entrySet()) {
      for (long i = 0; i < entry.getValue() && rows.size() < wanted; i++) {
        rows.add(entry.getKey());
      }
      if (rows.size() == wanted) {
        break;
      }
    }
    return rows;
  }

  private void put(InternalRow row, long count) {
    Long before = count == 0 ? head.remove(row) : head.put(row, count);
    held += count - (before == null ? 0 : before);
  }

  /** Takes the net change per row: the shuffle may have put a retraction before its row. */
  private void apply(Changes changes) {
    Map<InternalRow, Long> net = new HashMap<>();
    while (changes.next()) {
      net.merge(changes.payload().copy(), changes.weight(), Long::sum);
    }
    for (Map.Entry<InternalRow, Long> change : net.entrySet()) {
      if (change.getValue() != 0) {
        apply(change.getKey(), change.getValue());
      }
    }
    if (!complete && held < wanted) {
      refill();
    }
  }

  private void apply(InternalRow row, long weight) {
    if (complete) {
      put(row, sum(head.get(row), weight));
      if (head.size() > room) {
        spill();
      }
      return;
    }
    InternalRow before = all.getValue(row);
    long count = sum(before == null ? null : before.getLong(0), weight);
    store(row, count);
    if (!head.isEmpty() && order.compare(row, head.lastKey()) <= 0) {
      put(row, count);
      trim(room);
    }
  }

  private long sum(Long before, long weight) {
    long count = (before == null ? 0 : before) + weight;
    if (count < 0) {
      throw absent("a row");
    }
    return count;
  }

  private void store(InternalRow row, long count) {
    if (count == 0) {
      all.removeKey(row);
    } else {
      all.updateValue(row, new GenericInternalRow(new Object[] {count}));
    }
  }

  private void trim(int most) {
    while (head.size() > most) {
      held -= head.pollLastEntry().getValue();
    }
  }

  private void spill() {
    head.forEach(this::store);
    complete = false;
    trim(wanted + room / 4);
  }

  /** Reads all rows for the first ones; if those are all, map state is no longer needed. */
  private void refill() {
    head.clear();
    held = 0;
    long rows = 0;
    scala.collection.Iterator<scala.Tuple2<InternalRow, InternalRow>> entries = all.iterator();
    while (entries.hasNext()) {
      scala.Tuple2<InternalRow, InternalRow> entry = entries.next();
      rows++;
      put(own.apply(entry._1()).copy(), entry._2().getLong(0));
      trim(room);
    }
    if (rows == head.size()) {
      all.clear();
      complete = true;
    }
  }

  /** Each place by itself: what stands there now in place of what stood there. */
  private List<Change> placeByPlace(List<InternalRow> before, List<InternalRow> after) {
    List<Change> out = new ArrayList<>();
    for (int i = 0; i < Math.max(before.size(), after.size()); i++) {
      InternalRow old = i < before.size() ? before.get(i) : null;
      InternalRow now = i < after.size() ? after.get(i) : null;
      if (old == null || now == null || order.compare(old, now) != 0) {
        out.addAll(replaced(placed(old, i), placed(now, i)));
      }
    }
    return out;
  }

  private InternalRow placed(InternalRow row, long place) {
    return row == null || !ranked ? row : new GenericInternalRow(new Object[] {row, place + 1});
  }

  /** Both are sorted: what is only in the one has gone, what is only in the other is new. */
  private List<Change> difference(List<InternalRow> before, List<InternalRow> after) {
    List<Change> gone = new ArrayList<>();
    List<Change> come = new ArrayList<>();
    int i = 0;
    int j = 0;
    while (i < before.size() || j < after.size()) {
      int found = i == before.size() ? 1 : j == after.size() ? -1 : order.compare(before.get(i), after.get(j));
      if (found < 0) {
        gone.add(new Change(before.get(i++), -1));
      } else if (found > 0) {
        come.add(new Change(after.get(j++), 1));
      } else {
        i++;
        j++;
      }
    }
    gone.addAll(come);
    return gone;
  }
}
