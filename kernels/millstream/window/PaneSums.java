package millstream.window;

import java.util.Map;
import java.util.NavigableMap;
import java.util.TreeMap;
import java.util.function.Function;
import millstream.aggregate.KeptFigures;
import org.apache.spark.sql.catalyst.InternalRow;

/**
 * The results of overlapping windows, asked for in the order of time: each pane is added twice, however many windows it
 * is in.
 *
 * <pre>
 *   panes     |  a  |  b  |  c  |  d  |  e  |  f  |
 *   stretches |<--------------->|<--------------->|   as long as a window, from the beginning of time on
 *   window          |  b  +  c  +  d  |              the tail of one stretch (c + b), and the head of the next (d)
 * </pre>
 *
 * <p>The order of additions depends on the window alone: a sum of floating-point numbers that is taken back is the one
 * that was sent.
 */
final class PaneSums {
  private final NavigableMap<Long, KeptFigures> panes;
  private final long size;
  private final long end;
  private final Function<KeptFigures, InternalRow> figures;
  private final Function<InternalRow, KeptFigures> kept;
  /** The sums from a pane to the end of its stretch. */
  private final NavigableMap<Long, InternalRow> tails = new TreeMap<>();

  private long stretch;
  private KeptFigures head;
  private long headEnd;

  /**
   * No window after {@code end} is asked for; {@code figures}: those of a pane that count, NULL for none; {@code kept}:
   * figures to add to.
   */
  PaneSums(
      NavigableMap<Long, KeptFigures> panes,
      long size,
      long end,
      Function<KeptFigures, InternalRow> figures,
      Function<InternalRow, KeptFigures> kept) {
    this.panes = panes;
    this.size = size;
    this.end = end;
    this.figures = figures;
    this.kept = kept;
  }

  /** The sum of a window's panes; NULL if there are none. */
  KeptFigures of(long window) {
    long begin = window - Math.floorMod(window, size);
    if (head == null || begin != stretch) {
      enter(begin, window);
    }
    for (KeptFigures pane : panes.subMap(headEnd, window + size).values()) {
      add(head, pane);
    }
    headEnd = window + size;
    Map.Entry<Long, InternalRow> tail = tails.ceilingEntry(window);
    if (tail == null && !head.isOpen()) {
      return null;
    }
    KeptFigures sum = kept.apply(tail == null ? null : tail.getValue());
    if (head.isOpen()) {
      sum.add(head.saved());
    }
    return sum;
  }

  private void enter(long begin, long window) {
    stretch = begin;
    headEnd = begin + size;
    head = kept.apply(null);
    tails.clear();
    KeptFigures tail = kept.apply(null);
    Long last = panes.ceilingKey(end);
    for (Map.Entry<Long, KeptFigures> pane :
        panes.subMap(window, true, headEnd, false).descendingMap().entrySet()) {
      add(tail, pane.getValue());
      if (tail.isOpen() && (last == null || pane.getKey() <= last)) {
        tails.put(pane.getKey(), tail.saved());
      }
    }
  }

  private void add(KeptFigures sum, KeptFigures pane) {
    InternalRow counted = figures.apply(pane);
    if (counted != null) {
      sum.add(counted);
    }
  }
}
