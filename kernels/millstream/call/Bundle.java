package millstream.call;

import java.util.ArrayList;
import java.util.List;
import millstream.python.ArrowWriting;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;

/** Rows that are handed to Python in one go. */
final class Bundle implements AutoCloseable {
  /** The number of rows in a full bundle. */
  static final int FULL = 4_096;

  private final ArrowWriting arrow;
  /** Of each row only the last column is handed over, and the row itself kept; NULL: all of it is. */
  private final DataType last;

  private final int place;
  private List<InternalRow> rows = new ArrayList<>();

  Bundle(String step, StructType input, boolean beside) {
    place = input.length() - 1;
    last = beside ? input.fields()[place].dataType() : null;
    arrow = new ArrowWriting(step, beside ? new StructType().add(input.fields()[place]) : input);
  }

  void add(InternalRow row) {
    if (last == null) {
      arrow.write(row);
      return;
    }
    InternalRow kept = row.copy();
    Object argument = kept.isNullAt(place) ? null : kept.get(place, last);
    arrow.write(new GenericInternalRow(new Object[] {argument}));
    rows.add(kept);
  }

  int size() {
    return arrow.rows();
  }

  boolean isFull() {
    return size() >= FULL;
  }

  /** What is handed over, as an Arrow stream; the next rows begin a new one. */
  byte[] take() {
    return arrow.take();
  }

  /** The rows beside whose last column the results go, if so set; once. */
  List<InternalRow> rows() {
    List<InternalRow> taken = rows;
    rows = new ArrayList<>();
    return taken;
  }

  @Override
  public void close() {
    arrow.close();
  }
}
