package millstream.state;

import java.io.Serializable;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.StructType;

/**
 * How long a join keeps the rows of one side: until the watermark is far enough past a row's time.
 *
 * @param at where the row has its time
 * @param keep how many milliseconds past it
 * @param late rows that are older than the watermark by more are late; negative: all come in time
 * @param grain the end is a multiple of it, so that many rows end together
 */
public record Lifetime(int at, long keep, long late, long grain) implements Serializable {
  public static final long NEVER = Long.MAX_VALUE;

  /**
   * A join's settings for one side.
   *
   * @param field where a row has its time
   * @param lateMs NULL: all rows come in time
   * @param exact whether it is seen when a row ends
   */
  public record Told(String field, long keepMs, Long lateMs, boolean exact) {}

  /** NULL: rows are kept as long as they are not taken back. */
  public static Lifetime of(Told told, StructType row) {
    if (told == null) {
      return null;
    }
    long grain = told.exact ? 1 : Math.max(1, told.keepMs / 16);
    return new Lifetime(row.fieldIndex(told.field), told.keepMs, told.lateMs == null ? -1 : told.lateMs, grain);
  }

  /** The watermark at which the row is of no more use. */
  public long end(InternalRow row) {
    if (row.isNullAt(at)) {
      return NEVER;
    }
    long end = time(row) + keep + 1;
    return -Math.floorDiv(-end, grain) * grain;
  }

  public boolean isLate(InternalRow row, long watermark) {
    return late >= 0 && !row.isNullAt(at) && watermark > time(row) + late;
  }

  /** In milliseconds, rounded up. */
  private long time(InternalRow row) {
    return -Math.floorDiv(-row.getLong(at), 1000L);
  }
}
