package millstream.metrics;

import java.io.Serializable;

/**
 * What was counted for one source, operator or sink.
 *
 * @param rowsIn records read, changes that came in, or rows that were handed over
 * @param rowsOut rows that went on, or records that were written
 * @param bytes of the records' keys and values
 * @param late rows that came too late, or have no time
 * @param skipped records that cannot be read, or rows on which the user's code failed
 * @param timersSet how often a timer was set
 * @param timersRung timers that have rung
 * @param nanos time spent, as a coarse clock sees it
 */
public record Figures(
    long rowsIn, long rowsOut, long bytes, long late, long skipped, long timersSet, long timersRung, long nanos)
    implements Serializable {
  static final Figures NONE = new Figures(0, 0, 0, 0, 0, 0, 0, 0);

  public Figures plus(Figures other) {
    return new Figures(
        rowsIn + other.rowsIn,
        rowsOut + other.rowsOut,
        bytes + other.bytes,
        late + other.late,
        skipped + other.skipped,
        timersSet + other.timersSet,
        timersRung + other.timersRung,
        nanos + other.nanos);
  }

  /** Of each figure the greater. */
  Figures max(Figures other) {
    return new Figures(
        Math.max(rowsIn, other.rowsIn),
        Math.max(rowsOut, other.rowsOut),
        Math.max(bytes, other.bytes),
        Math.max(late, other.late),
        Math.max(skipped, other.skipped),
        Math.max(timersSet, other.timersSet),
        Math.max(timersRung, other.timersRung),
        Math.max(nanos, other.nanos));
  }
}
