package millstream.metrics;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/** The last few rows that passed somewhere, oldest first. */
public record Sampled(ArrayList<Line> lines) implements Serializable {
  /** How many are kept. */
  static final int KEPT = 20;

  /**
   * One row.
   *
   * @param at when it passed, in milliseconds since 1970
   * @param weight by how much it counts: less than nothing, if it is taken back
   * @param row the row as JSON; if it is too long, the beginning of that
   */
  public record Line(long at, long weight, String row) implements Serializable {}

  static final Sampled NONE = new Sampled(new ArrayList<>());

  /** The newest of both. */
  Sampled with(Sampled other) {
    List<Line> all = new ArrayList<>(lines);
    all.addAll(other.lines);
    all.sort(Comparator.comparingLong(Line::at));
    return new Sampled(new ArrayList<>(all.subList(Math.max(0, all.size() - KEPT), all.size())));
  }
}
