package millstream.aggregate;

import java.util.HashMap;
import java.util.Map;
import millstream.state.Weights;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.types.StructType;

/** Values, each with a weight per filter, as rows and merged figures bring them: {@code [(value, w0, w1, …), …]}. */
final class DistinctValues {
  private final StructType entryType;
  private final StructType valueType;
  private final UnsafeProjection own;
  private final Map<InternalRow, long[]> weights = new HashMap<>();

  DistinctValues(StructType entryType) {
    this(entryType, UnsafeProjection.create(Weights.valueType(entryType)));
  }

  private DistinctValues(StructType entryType, UnsafeProjection own) {
    this.entryType = entryType;
    this.valueType = Weights.valueType(entryType);
    this.own = own;
  }

  /** Another one, empty, that shares what is costly to make. */
  DistinctValues sibling() {
    return new DistinctValues(entryType, own);
  }

  int filters() {
    return entryType.length() - 1;
  }

  void add(ArrayData entries) {
    for (int i = 0; i < entries.numElements(); i++) {
      InternalRow entry = entries.getStruct(i, entryType.length());
      UnsafeRow value = own.apply(entry.getStruct(0, valueType.length()));
      long[] sums = weights.get(value);
      if (sums == null) {
        sums = new long[entryType.length() - 1];
        weights.put(value.copy(), sums);
      }
      for (int j = 0; j < sums.length; j++) {
        sums[j] += entry.getLong(j + 1);
      }
    }
  }

  Map<InternalRow, long[]> weights() {
    return weights;
  }

  /** In the form in which they come. */
  ArrayData entries() {
    Object[] entries = new Object[weights.size()];
    int count = 0;
    for (Map.Entry<InternalRow, long[]> entry : weights.entrySet()) {
      entries[count++] = Weights.entry(entry.getKey(), entry.getValue());
    }
    return new GenericArrayData(entries);
  }
}
