package millstream.rank;

import java.util.ArrayList;
import java.util.List;
import millstream.operator.Partial;
import millstream.row.Change;
import millstream.row.RowOrder;
import millstream.state.Ranked;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;

/** The first rows of one key that a task has seen; rows that are never taken back. */
final class First implements Partial {
  private final Ranked<InternalRow> first;
  private final UnsafeProjection own;

  First(RowOrder order, long wanted, UnsafeProjection own) {
    this.first = new Ranked<>(order, wanted);
    this.own = own;
  }

  @Override
  public void add(InternalRow payload, long weight) {
    first.offer(own.apply(payload), weight, InternalRow::copy);
  }

  @Override
  public int size() {
    return first.head().size();
  }

  @Override
  public List<Change> rows() {
    List<Change> rows = new ArrayList<>();
    first.head().forEach((row, count) -> rows.add(new Change(row, count)));
    return rows;
  }
}
