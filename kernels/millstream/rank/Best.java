package millstream.rank;

import java.util.Collections;
import java.util.Iterator;
import java.util.List;
import millstream.operator.Moment;
import millstream.operator.Operator;
import millstream.operator.OperatorSpec;
import millstream.operator.Partial;
import millstream.row.Change;
import millstream.row.Changes;
import millstream.row.RowOrder;
import millstream.state.GroupState;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.streaming.StatefulProcessorHandle;
import org.apache.spark.sql.types.StructType;

/** The first row of each group in an order, for rows that are never taken back: only that row is kept. */
final class Best extends Operator {
  private static final long serialVersionUID = 1L;

  private final StructType rowType;
  private final RowOrder order;
  private final GroupState group;

  private transient UnsafeProjection own;

  Best(OperatorSpec spec, Top.Told told) {
    super(spec.name(), spec.upserts());
    this.rowType = spec.input(0);
    this.order = new RowOrder(rowType, told.order(), told.ties());
    this.group = spec.group(told.ends());
  }

  @Override
  public StructType outputType() {
    return rowType;
  }

  @Override
  public void open(StatefulProcessorHandle handle) {
    group.open(handle, name + "_best", new StructType().add("row", rowType, false));
  }

  @Override
  public Iterator<Change> process(InternalRow key, Changes changes, Moment moment) {
    InternalRow saved = group.load(key, moment.ended());
    InternalRow before = saved == null ? null : saved.getStruct(0, rowType.length());
    InternalRow best = before;
    while (changes.next()) {
      InternalRow row = changes.payload();
      if (best == null || order.compare(row, best) < 0) {
        best = row.copy();
      }
    }
    if (best == before) {
      return Collections.emptyIterator();
    }
    group.save(new GenericInternalRow(new Object[] {best}));
    return replaced(before, best).iterator();
  }

  /** The group is closed: no row of it will come. */
  @Override
  public Iterator<Change> expired(InternalRow key, long at, Moment moment) {
    group.clear();
    return Collections.emptyIterator();
  }

  @Override
  public boolean combines() {
    return true;
  }

  @Override
  public Partial partial() {
    if (own == null) {
      own = UnsafeProjection.create(rowType);
    }
    return new Seen(order, own);
  }

  /** The best row of a key that a task has seen. */
  private static final class Seen implements Partial {
    private final RowOrder order;
    private final UnsafeProjection own;
    private InternalRow best;

    Seen(RowOrder order, UnsafeProjection own) {
      this.order = order;
      this.own = own;
    }

    @Override
    public void add(InternalRow payload, long weight) {
      InternalRow row = own.apply(payload);
      if (best == null || order.compare(row, best) < 0) {
        best = row.copy();
      }
    }

    @Override
    public int size() {
      return 1;
    }

    @Override
    public List<Change> rows() {
      return List.of(new Change(best, 1));
    }
  }
}
