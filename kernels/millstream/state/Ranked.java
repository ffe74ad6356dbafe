package millstream.state;

import java.util.Comparator;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.streaming.MapState;
import scala.Tuple2;

/**
 * What one key has and may lose again, each with its count; the first in an order are wanted.
 *
 * <pre>
 *   head   the first, sorted, in the operator's value state: at least as many as are wanted
 *   all    everything, in map state: used once there is more than fits the head,
 *          read only when the head no longer has enough
 * </pre>
 */
public final class Ranked<T> {
  private final long wanted;
  private final long most;
  private final MapState<InternalRow, InternalRow> all;
  private final Function<T, InternalRow> stored;
  private final Function<InternalRow, T> own;
  private final Supplier<Absent> absent;
  private final TreeMap<T, Long> head;
  /** How many the head holds, each as often as it is there. */
  private long held;

  private boolean complete = true;

  /**
   * The head has room for {@code most}; {@code stored}: in the form of map state's keys; {@code own}: a copy in the
   * form of the head; {@code absent}: says that what is taken back is not there.
   */
  public Ranked(
      Comparator<? super T> order,
      long wanted,
      long most,
      MapState<InternalRow, InternalRow> all,
      Function<T, InternalRow> stored,
      Function<InternalRow, T> own,
      Supplier<Absent> absent) {
    this.head = new TreeMap<>(order);
    this.wanted = wanted;
    this.most = most;
    this.all = all;
    this.stored = stored;
    this.own = own;
    this.absent = absent;
  }

  /** If nothing is ever taken back, only what is wanted is kept; so there is no map state. */
  public Ranked(Comparator<? super T> order, long wanted) {
    this(order, wanted, wanted, null, null, null, null);
  }

  /** Begins with an empty head; {@code complete}: map state has nothing. What was saved of the head is {@link #put}. */
  public void load(boolean complete) {
    head.clear();
    held = 0;
    this.complete = complete;
  }

  public void put(T one, long count) {
    Long before = count == 0 ? head.remove(one) : head.put(one, count);
    held += count - (before == null ? 0 : before);
  }

  /** Sorted: at least those that are wanted. */
  public SortedMap<T, Long> head() {
    return head;
  }

  /** Whether the head is all that there is. */
  public boolean complete() {
    return complete;
  }

  /** Removes what is kept for the key outside the head. */
  public void drop() {
    if (!complete) {
      all.clear();
    }
  }

  /** Changes the counts by these weights, net of all that happened: none is below zero then. */
  public void apply(Map<T, Long> net) {
    net.forEach((one, weight) -> {
      if (weight != 0) {
        apply(one, weight);
      }
    });
    if (!complete && held < wanted) {
      refill();
    }
  }

  /** Adds what is never taken back, if it is among those that are wanted: as a copy, unless it is there already. */
  public void offer(T one, long weight, UnaryOperator<T> copy) {
    if (held >= wanted && head.comparator().compare(one, head.lastKey()) >= 0) {
      return;
    }
    Long before = head.get(one);
    if (before == null) {
      head.put(copy.apply(one), weight);
    } else {
      head.put(one, before + weight);
    }
    held += weight;
    while (held - head.lastEntry().getValue() >= wanted) {
      held -= head.pollLastEntry().getValue();
    }
  }

  private void apply(T one, long weight) {
    if (complete) {
      put(one, sum(head.get(one), weight));
      if (head.size() > most) {
        spill();
      }
      return;
    }
    InternalRow key = stored.apply(one);
    InternalRow before = all.getValue(key);
    long count = sum(before == null ? null : before.getLong(0), weight);
    store(key, count);
    if (!head.isEmpty() && head.comparator().compare(one, head.lastKey()) <= 0) {
      put(one, count);
      trim(most);
    }
  }

  private long sum(Long before, long weight) {
    long count = (before == null ? 0 : before) + weight;
    if (count < 0) {
      throw absent.get();
    }
    return count;
  }

  private void store(InternalRow key, long count) {
    if (count == 0) {
      all.removeKey(key);
    } else {
      all.updateValue(key, new GenericInternalRow(new Object[] {count}));
    }
  }

  private void trim(long size) {
    while (head.size() > size) {
      held -= head.pollLastEntry().getValue();
    }
  }

  private void spill() {
    head.forEach((one, count) -> store(stored.apply(one), count));
    complete = false;
    trim((wanted + most) / 2);
  }

  /** Reads everything for the first; if those are all, map state is no longer needed. */
  private void refill() {
    load(false);
    long found = 0;
    scala.collection.Iterator<Tuple2<InternalRow, InternalRow>> entries = all.iterator();
    while (entries.hasNext()) {
      Tuple2<InternalRow, InternalRow> entry = entries.next();
      found++;
      put(own.apply(entry._1()), entry._2().getLong(0));
      trim(most);
    }
    if (found == head.size()) {
      all.clear();
      complete = true;
    }
  }
}
