package millstream.rules;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Iterator;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;

/** What became of the plans of earlier epochs, by their shape; the one that was asked for last comes first. */
final class KnownPlans {
  /** Each set of sources that have rows has a shape of its own. */
  private static final int MOST = 16;

  private record Known(LogicalPlan shape, LogicalPlan result) {}

  private final Deque<Known> known = new ArrayDeque<>();

  /** NULL: there was none of that shape. */
  synchronized LogicalPlan get(LogicalPlan shape) {
    for (Iterator<Known> all = known.iterator(); all.hasNext(); ) {
      Known one = all.next();
      if (one.shape().equals(shape)) {
        all.remove();
        known.addFirst(one);
        return one.result();
      }
    }
    return null;
  }

  synchronized void put(LogicalPlan shape, LogicalPlan result) {
    known.addFirst(new Known(shape, result));
    if (known.size() > MOST) {
      known.removeLast();
    }
  }
}
