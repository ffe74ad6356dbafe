package millstream.save;

import java.io.IOException;
import java.util.Arrays;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.types.StructType;

/** Makes rows of a list from the bytes of state. Each thread has its own. */
final class SavedRows {
  private final SavedList list;
  private final int stageKey;
  private final int keys;
  private final int values;
  private final UnsafeProjection columns;
  private final UnsafeProjection hash;
  private final int entry;
  private final GenericInternalRow input = new GenericInternalRow(4);
  private byte[] last;
  private long index;

  SavedRows(SavedList list, StructType stageKey, StageState.Family family) {
    this.list = list;
    this.stageKey = stageKey.length();
    this.keys = family.key().length();
    this.values = family.value().length();
    this.columns = UnsafeProjection.create(list.columns());
    this.hash = UnsafeProjection.create(list.hash());
    this.entry = list.spec.kind().equals("map")
        ? ((StructType) family.key().apply("userKey").dataType()).length()
        : 0;
  }

  /** Whether the row is of this list: a family of timers is shared by all operators of a stage. */
  boolean take(byte[] key, byte[] value) throws IOException {
    UnsafeRow whole = SavedList.pointed(key, keys);
    InternalRow own =
        switch (list.spec.kind()) {
          case "map" -> whole.getStruct(0, stageKey);
          case "timers" -> whole.getStruct(1, stageKey);
          default -> whole;
        };
    if (list.spec.tag() != null && own.getInt(0) != list.spec.tag()) {
      return false;
    }
    input.update(0, own);
    input.update(1, entry > 0 ? whole.getStruct(1, entry) : null);
    input.update(2, number(whole, key));
    input.update(3, values > 0 ? SavedList.pointed(value, values) : null);
    list.add(hash.apply(input).getInt(0), columns.apply(input));
    return true;
  }

  /** When a timer rings; of a list, which of the key's items it is: these follow one another. */
  private long number(UnsafeRow whole, byte[] key) {
    if (list.spec.kind().equals("timers")) {
      return whole.getLong(0);
    }
    if (list.spec.kind().equals("list")) {
      index = Arrays.equals(key, last) ? index + 1 : 0;
      last = key;
    }
    return index;
  }
}
