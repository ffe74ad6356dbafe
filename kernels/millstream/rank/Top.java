package millstream.rank;

import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import millstream.operator.GroupEnds;
import millstream.operator.Moment;
import millstream.operator.Operator;
import millstream.operator.OperatorSpec;
import millstream.operator.Partial;
import millstream.row.Change;
import millstream.row.Changes;
import millstream.row.RowOrder;
import millstream.state.Absent;
import millstream.state.Bag;
import millstream.state.GroupState;
import millstream.state.Ranked;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.streaming.StatefulProcessorHandle;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/**
 * The first rows of each group, in an order; only what changed among them is sent.
 *
 * <p>If rows are never taken back, only the wanted ones are kept.
 */
public final class Top extends Operator {
  private static final long serialVersionUID = 1L;

  private final StructType rowType;
  private final RowOrder order;
  private final long wanted;
  private final boolean ranked;
  private final boolean appendOnly;
  private final GroupState group;

  private transient UnsafeProjection own;
  private transient Ranked<InternalRow> rows;

  /**
   * Its settings.
   *
   * @param ties how many of a row's fields, from the first on, settle ties
   * @param ranked whether each row is sent with its place
   * @param appendOnly whether rows are never taken back
   * @param ends when groups end; NULL: they do not
   */
  public record Told(
      long count, List<RowOrder.Told> order, int ties, boolean ranked, boolean appendOnly, GroupEnds ends) {}

  Top(OperatorSpec spec, Told told) {
    super(spec.name(), spec.upserts());
    this.rowType = spec.input(0);
    this.order = new RowOrder(rowType, told.order, told.ties);
    this.wanted = told.count;
    this.ranked = told.ranked;
    this.appendOnly = told.appendOnly;
    this.group = spec.group(told.ends);
  }

  public static Operator of(OperatorSpec spec, Told told) {
    boolean one = told.count == 1 && !told.ranked && told.appendOnly;
    return one ? new Best(spec, told) : new Top(spec, told);
  }

  @Override
  public StructType outputType() {
    return ranked ? new StructType().add("row", rowType, false).add("rank", "bigint", false) : rowType;
  }

  @Override
  public void open(StatefulProcessorHandle handle) {
    StructType entry = Bag.weightType().add("row", rowType, false);
    StructType type = new StructType()
        .add("complete", DataTypes.BooleanType, false)
        .add("head", DataTypes.createArrayType(entry, false), false);
    group.open(handle, name + "_head", type);
    rows = appendOnly ? new Ranked<>(order, wanted) : retractable(handle);
  }

  private Ranked<InternalRow> retractable(StatefulProcessorHandle handle) {
    UnsafeProjection form = UnsafeProjection.create(rowType);
    return new Ranked<>(
        order,
        wanted,
        2 * wanted + 16,
        Bag.spill(handle, name + "_rows", rowType),
        row -> row,
        row -> form.apply(row).copy(),
        () -> new Absent(name, "a row"));
  }

  /** The group is closed: no row of it will come or go. */
  @Override
  public Iterator<Change> expired(InternalRow key, long at, Moment moment) {
    InternalRow saved = group.load();
    rows.load(saved == null || saved.getBoolean(0));
    drop();
    return Collections.emptyIterator();
  }

  private void drop() {
    group.save(null);
    rows.drop();
  }

  @Override
  public Iterator<Change> process(InternalRow key, Changes changes, Moment moment) {
    load(group.load(key, moment.ended()));
    List<InternalRow> before = first();
    if (appendOnly) {
      while (changes.next()) {
        rows.offer(changes.payload(), changes.weight(), InternalRow::copy);
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
  public boolean combines() {
    return appendOnly;
  }

  /** Of rows that are never taken back, a task sends on those that are among its own first ones. */
  @Override
  public Partial partial() {
    if (own == null) {
      own = UnsafeProjection.create(rowType);
    }
    return new First(order, wanted, own);
  }

  private void load(InternalRow saved) {
    rows.load(saved == null || saved.getBoolean(0));
    if (saved == null) {
      return;
    }
    ArrayData entries = saved.getArray(1);
    for (int i = 0; i < entries.numElements(); i++) {
      InternalRow entry = entries.getStruct(i, 2);
      rows.put(entry.getStruct(1, rowType.length()), entry.getLong(0));
    }
  }

  private void save() {
    if (rows.head().isEmpty()) {
      group.save(null);
      return;
    }
    List<Object> entries = new ArrayList<>();
    rows.head().forEach((row, count) -> entries.add(new GenericInternalRow(new Object[] {count, row})));
    group.save(new GenericInternalRow(new Object[] {rows.complete(), new GenericArrayData(entries.toArray())}));
  }

  /** The rows that are wanted. */
  private List<InternalRow> first() {
    List<InternalRow> found = new ArrayList<>();
    for (Map.Entry<InternalRow, Long> entry : rows.head().entrySet()) {
      for (long i = 0; i < entry.getValue() && found.size() < wanted; i++) {
        found.add(entry.getKey());
      }
      if (found.size() == wanted) {
        break;
      }
    }
    return found;
  }

  /** Takes the net change per row: the shuffle may have put a retraction before its row. */
  private void apply(Changes changes) {
    Map<InternalRow, Long> net = new HashMap<>();
    while (changes.next()) {
      net.merge(changes.payload().copy(), changes.weight(), Long::sum);
    }
    rows.apply(net);
  }

  /** Each place by itself: its new row instead of its old one. */
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
    List<InternalRow> gone = new ArrayList<>();
    List<InternalRow> come = new ArrayList<>();
    int i = 0;
    int j = 0;
    while (i < before.size() || j < after.size()) {
      int found = i == before.size() ? 1 : j == after.size() ? -1 : order.compare(before.get(i), after.get(j));
      if (found < 0) {
        gone.add(before.get(i++));
      } else if (found > 0) {
        come.add(after.get(j++));
      } else {
        i++;
        j++;
      }
    }
    return exchanged(gone, come);
  }
}
