package millstream.stage;

import org.apache.spark.sql.catalyst.InternalRow;
import scala.collection.Iterator;

/** A cursor over the input changes of one group. Rows are only good until the next step: copy what is kept. */
final class Changes {
  private final Iterator<InternalRow> rows;
  private final Layout layout;
  private InternalRow current;

  Changes(Iterator<InternalRow> rows, Layout layout) {
    this.rows = rows;
    this.layout = layout;
  }

  boolean next() {
    if (!rows.hasNext()) {
      return false;
    }
    current = rows.next();
    return true;
  }

  /** The payload column that is set. */
  int port() {
    return layout.port(current);
  }

  long weight() {
    return layout.weight(current);
  }

  /** NULL in a row that is only there to call the group. */
  InternalRow payload() {
    return layout.payload(current, port());
  }
}
