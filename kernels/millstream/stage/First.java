package millstream.stage;

import java.util.ArrayList;
import java.util.List;
import java.util.TreeMap;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;

/** The first rows of one key that a task has seen; rows that are never taken back. */
final class First implements Partial {
  private final TreeMap<InternalRow, Long> head;
  private final int wanted;
  private final UnsafeProjection own;
  private long held;

  First(RowOrder order, int wanted, UnsafeProjection own) {
    this.head = new TreeMap<>(order);
    this.wanted = wanted;
    this.own = own;
  }

  /** Keeps a row if it is among the first; tells how many are held then, doubles counted. */
  static long offer(TreeMap<InternalRow, Long> head, long held, int wanted, InternalRow row, long weight) {
    if (held >= wanted && head.comparator().compare(row, head.lastKey()) >= 0) {
      return held;
    }
    Long before = head.get(row);
    if (before == null) {
      head.put(row.copy(), weight);
    } else {
      head.put(row, before + weight);
    }
    long now = held + weight;
    while (now - head.lastEntry().getValue() >= wanted) {
      now -= head.pollLastEntry().getValue();
    }
    return now;
  }

  @Override
  public void add(InternalRow payload, long weight) {
    held = offer(head, held, wanted, own.apply(payload), weight);
  }

  @Override
  public int size() {
    return head.size();
  }

  @Override
  public List<Change> rows() {
    List<Change> rows = new ArrayList<>();
    head.forEach((row, count) -> rows.add(new Change(row, count)));
    return rows;
  }
}
