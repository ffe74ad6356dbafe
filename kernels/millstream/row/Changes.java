package millstream.row;

import java.util.NoSuchElementException;
import java.util.function.Predicate;
import java.util.function.Supplier;
import millstream.metrics.Counts;
import org.apache.spark.sql.catalyst.InternalRow;
import scala.collection.Iterator;

/** A cursor over the input changes of one group. Rows are only good until the next step: copy what is kept. */
public final class Changes {
  private final Iterator<InternalRow> rows;
  private final Layout layout;
  private final Counts counts;
  private InternalRow current;

  /** {@code counts}: who counts the rows; NULL: they are counted already. */
  public Changes(Iterator<InternalRow> rows, Layout layout, Counts counts) {
    this.rows = rows;
    this.layout = layout;
    this.counts = counts;
  }

  public boolean next() {
    if (!rows.hasNext()) {
      return false;
    }
    current = rows.next();
    // A row without a weight is only there to call the group.
    if (counts != null && layout.weight(current) != 0) {
      counts.rowsIn++;
    }
    return true;
  }

  /** The payload column that is set. */
  public int port() {
    return layout.port(current);
  }

  public long weight() {
    return layout.weight(current);
  }

  /** NULL in a row that is only there to call the group. */
  public InternalRow payload() {
    return layout.payload(current, port());
  }

  /** One change out for each change in, made when it is asked for. */
  public java.util.Iterator<Change> each(Supplier<Change> make) {
    return each(make, changes -> true);
  }

  /** The same for those that are wanted. */
  public java.util.Iterator<Change> each(Supplier<Change> make, Predicate<Changes> wanted) {
    return new java.util.Iterator<>() {
      private boolean ahead;
      private boolean more;

      @Override
      public boolean hasNext() {
        if (!ahead) {
          do {
            more = Changes.this.next();
          } while (more && !wanted.test(Changes.this));
          ahead = true;
        }
        return more;
      }

      @Override
      public Change next() {
        if (!hasNext()) {
          throw new NoSuchElementException();
        }
        ahead = false;
        return make.get();
      }
    };
  }
}
