package millstream.stage;

import org.apache.spark.sql.catalyst.InternalRow;

/** A row and its weight: +1 adds it, -1 takes it back. */
record Change(InternalRow row, long weight) {}
