package millstream.operator;

/**
 * The time at which an operator is called.
 *
 * @param watermark how far event time has come, in milliseconds. For rows of an operator that {@link Operator#follows}
 *     it is that of the epoch before: what it has not ended is still open
 * @param ended what ends by then ends with the rows of the group, which are all of the epoch: it needs no state and no
 *     timer. For operators that do not follow, and in real time, where rows come one by one, it is never
 * @param now the epoch's time on the clock, in milliseconds
 */
public record Moment(long watermark, long ended, long now) {
  public static final long NEVER = Long.MIN_VALUE;

  /** Spark's watermark begins at 0, which is 1970: until it moves on, nothing is known, and nothing is late. */
  public static long known(long watermark) {
    return watermark > 0 ? watermark : NEVER;
  }
}
