package millstream.row;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.util.TypeUtils;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.LongType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.types.TimestampType;
import org.apache.spark.unsafe.types.ByteArray;

/**
 * The order of rows: by some fields, then by all of them, then by their bytes: no two different rows are alike in it.
 */
public final class RowOrder implements Comparator<InternalRow>, Serializable {
  private static final long serialVersionUID = 1L;

  private record By(int at, DataType type, boolean descending, boolean nullsFirst) implements Serializable {
    /** Whether values are plain numbers, which need not be made objects to be compared. */
    boolean plain() {
      return type instanceof LongType || type instanceof TimestampType;
    }
  }

  private final List<By> parts = new ArrayList<>();
  /** NULL for what is compared as it is. */
  private transient List<Comparator<Object>> values;

  /** What rows are sorted by. */
  public record Told(String field, boolean descending, boolean nullsFirst) {}

  /** {@code ties}: how many fields, from the first on, settle ties. */
  public RowOrder(StructType type, List<Told> order, int ties) {
    for (Told part : order) {
      int at = type.fieldIndex(part.field);
      parts.add(new By(at, type.fields()[at].dataType(), part.descending, part.nullsFirst));
    }
    for (int i = 0; i < ties; i++) {
      parts.add(new By(i, type.fields()[i].dataType(), false, true));
    }
  }

  @Override
  public int compare(InternalRow one, InternalRow other) {
    if (values == null) {
      values = comparators();
    }
    for (int i = 0; i < parts.size(); i++) {
      int found = compare(parts.get(i), values.get(i), one, other);
      if (found != 0) {
        return found;
      }
    }
    return ByteArray.compareBinary(((UnsafeRow) one).getBytes(), ((UnsafeRow) other).getBytes());
  }

  private static int compare(By by, Comparator<Object> natural, InternalRow one, InternalRow other) {
    boolean no = one.isNullAt(by.at);
    if (no || other.isNullAt(by.at)) {
      boolean none = other.isNullAt(by.at);
      return no == none ? 0 : (no == by.nullsFirst ? -1 : 1);
    }
    int found = natural == null
        ? Long.compare(one.getLong(by.at), other.getLong(by.at))
        : natural.compare(one.get(by.at, by.type), other.get(by.at, by.type));
    return by.descending ? -found : found;
  }

  @SuppressWarnings("unchecked")
  private List<Comparator<Object>> comparators() {
    List<Comparator<Object>> made = new ArrayList<>();
    for (By part : parts) {
      made.add(part.plain() ? null : (Comparator<Object>) (Comparator<?>) TypeUtils.getInterpretedOrdering(part.type));
    }
    return made;
  }
}
