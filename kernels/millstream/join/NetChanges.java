package millstream.join;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import millstream.state.Held;
import org.apache.spark.sql.catalyst.InternalRow;

/** The net changes of one side of one key within an epoch, retractions first. */
final class NetChanges {
  private final Map<InternalRow, Held> net = new HashMap<>();
  private List<Held> sorted = List.of();

  void add(InternalRow row, long weight) {
    net.computeIfAbsent(row, one -> new Held(one, 0, 0)).weight += weight;
  }

  /** No more is added. */
  void close() {
    net.values().removeIf(one -> one.weight == 0);
    sorted = new ArrayList<>(net.values());
    sorted.sort(Comparator.comparing(one -> one.weight > 0));
  }

  List<Held> rows() {
    return sorted;
  }

  boolean isEmpty() {
    return sorted.isEmpty();
  }

  /** By how much a row's weight changes. The row must be of the same form as those that were added. */
  long of(InternalRow row) {
    Held found = net.get(row);
    return found == null ? 0 : found.weight;
  }
}
