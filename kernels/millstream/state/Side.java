package millstream.state;

import java.util.Iterator;
import org.apache.spark.sql.catalyst.InternalRow;

/** The rows of one side of one key of a join, some of them in the operator's value state. */
public interface Side {
  /** Begins with what was saved, or with nothing. */
  void load(InternalRow state);

  InternalRow save();

  /** Whether what was saved is no longer right. */
  boolean dirty();

  boolean isEmpty();

  /** Adds a weight to a row. The row must be the caller's own copy. */
  void add(InternalRow row, long weight);

  Iterator<Held> iterator();
}
