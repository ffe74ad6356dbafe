package millstream.row;

import org.apache.spark.sql.catalyst.InternalRow;

/**
 * A row and its weight: +1 adds it, -1 takes it back.
 *
 * @param seen a bit for each reader to whom it is a change
 */
public record Change(InternalRow row, long weight, long seen) {
  /** To all readers. */
  public static final long ALL = -1;

  public Change(InternalRow row, long weight) {
    this(row, weight, ALL);
  }
}
