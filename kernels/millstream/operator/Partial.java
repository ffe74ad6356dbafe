package millstream.operator;

import java.util.List;
import millstream.row.Change;
import org.apache.spark.sql.catalyst.InternalRow;

/** What an operator makes of the rows of one key before the shuffle. */
public interface Partial {
  void add(InternalRow payload, long weight);

  /** How many rows are left to send. */
  int size();

  /** The rows that say the same as all that were added. */
  List<Change> rows();
}
