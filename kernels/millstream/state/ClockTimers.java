package millstream.state;

import java.util.ArrayList;
import java.util.List;
import millstream.row.Layout;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.streaming.StatefulProcessorHandle;
import org.apache.spark.sql.streaming.TimeMode;
import scala.Option;
import scala.Tuple2;

/**
 * Timers by the clock, beside those by event time.
 *
 * <p>Spark lets a processor have timers of one kind only, and with timers by the clock it never ends a run that should
 * stop when it has caught up. These are kept in the same store, in the same form.
 */
public final class ClockTimers {
  private final Timers timers;

  private ClockTimers(Timers timers) {
    this.timers = timers;
  }

  /** NULL where there is no store: while the query is planned. */
  public static ClockTimers of(StatefulProcessorHandle handle) {
    Declared.clockTimers(handle);
    Planned.clockTimers(handle);
    Timers timers = Timers.of(handle, TimeMode.ProcessingTime());
    return timers == null ? null : new ClockTimers(timers);
  }

  /** For the key that is set. */
  public void set(long at) {
    timers.registerTimer(at);
  }

  public void delete(long at) {
    timers.deleteTimer(at);
  }

  /** The timers of an operator that have come, in order. */
  public List<Due> due(Layout layout, int operator, long now) {
    return due(timers.getExpiredTimers(now, Option.empty()), layout, operator);
  }

  public static List<Due> due(scala.collection.Iterator<Tuple2<Object, Object>> timers, Layout layout, int operator) {
    List<Due> found = new ArrayList<>();
    while (timers.hasNext()) {
      Tuple2<Object, Object> timer = timers.next();
      InternalRow key = (InternalRow) timer._1();
      if (layout.operator(key) == operator) {
        found.add(new Due(key.copy(), (Long) timer._2()));
      }
    }
    return found;
  }

  /** A timer that has come. */
  public record Due(InternalRow key, long at) {}
}
