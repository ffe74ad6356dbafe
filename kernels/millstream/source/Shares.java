package millstream.source;

import java.util.Map;
import java.util.TreeMap;
import java.util.function.ToLongFunction;

/** How many records an epoch takes from each part of a source. {@code start}: where it begins, by part. */
public final class Shares {
  private Shares() {}

  /** Where the epoch ends: the rows are shared out in proportion to what each part holds, rounded up as they last. */
  public static <P extends Comparable<P>> Map<P, Long> limited(ToLongFunction<P> start, Map<P, Long> end, long rows) {
    double waiting = behind(start, end);
    if (waiting <= rows) {
      return end;
    }
    Map<P, Long> next = new TreeMap<>();
    long left = rows;
    for (Map.Entry<P, Long> entry : end.entrySet()) {
      long from = start.applyAsLong(entry.getKey());
      long there = Math.max(0, entry.getValue() - from);
      long share = Math.min(left, Math.min(there, (long) Math.ceil(rows * (there / waiting))));
      left -= share;
      next.put(entry.getKey(), from + share);
    }
    return next;
  }

  /** How many records there are behind the start. */
  public static <P> long behind(ToLongFunction<P> start, Map<P, Long> end) {
    long behind = 0;
    for (Map.Entry<P, Long> entry : end.entrySet()) {
      behind += Math.max(0, entry.getValue() - start.applyAsLong(entry.getKey()));
    }
    return behind;
  }
}
