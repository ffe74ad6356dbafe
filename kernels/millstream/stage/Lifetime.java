package millstream.stage;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.Serializable;
import org.apache.spark.sql.catalyst.InternalRow;

/**
 * How long a join keeps the rows of one side: until the watermark is so far past a row's time.
 *
 * @param at where the row has its time
 * @param keep for so many milliseconds more
 * @param late rows that are older than the watermark by more are late; negative: all come in time
 * @param grain the end is a multiple of it, so that many rows end together
 */
record Lifetime(int at, long keep, long late, long grain) implements Serializable {
  static final long NEVER = Long.MAX_VALUE;

  static Lifetime of(JsonNode spec) {
    if (spec == null || spec.isNull()) {
      return null;
    }
    long keep = spec.get("keep_ms").asLong();
    long grain = spec.get("exact").asBoolean() ? 1 : Math.max(1, keep / 16);
    return new Lifetime(spec.get("at").asInt(), keep, spec.get("late_ms").asLong(), grain);
  }

  /** The watermark at which the row is of no more use. */
  long end(InternalRow row) {
    if (row.isNullAt(at)) {
      return NEVER;
    }
    long end = time(row) + keep + 1;
    return -Math.floorDiv(-end, grain) * grain;
  }

  boolean isLate(InternalRow row, long watermark) {
    return late >= 0 && !row.isNullAt(at) && watermark > time(row) + late;
  }

  /** In milliseconds, rounded up. */
  private long time(InternalRow row) {
    return -Math.floorDiv(-row.getLong(at), 1000L);
  }
}
