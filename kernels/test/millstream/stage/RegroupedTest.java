package millstream.stage;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.function.ToLongFunction;
import millstream.Seeds;
import millstream.row.Rows;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.junit.jupiter.api.Test;
import scala.jdk.javaapi.CollectionConverters;

class RegroupedTest {
  private static final StructType KEY = new StructType().add("k", DataTypes.StringType);
  private static final StructType ROW = KEY.add("n", DataTypes.IntegerType);

  private static List<UnsafeRow> rows(Random random) {
    List<UnsafeRow> found = new ArrayList<>();
    int keys = 1 + random.nextInt(6);
    for (int n = random.nextInt(30); n > 0; n--) {
      int key = random.nextInt(keys);
      found.add(Rows.of(ROW, key == 0 ? null : "key " + key, n));
    }
    return found;
  }

  /** As a sort gives them: one object, which is another row after each step. */
  private static List<UnsafeRow> regrouped(List<UnsafeRow> rows, ToLongFunction<InternalRow> hash) {
    UnsafeProjection key = UnsafeProjection.create(KEY);
    UnsafeRow view = new UnsafeRow(ROW.length());
    var input = CollectionConverters.asScala(rows.iterator()).<InternalRow>map(row -> {
      view.pointTo(row.getBaseObject(), row.getBaseOffset(), row.getSizeInBytes());
      return view;
    });
    List<UnsafeRow> found = new ArrayList<>();
    Regrouped grouped = new Regrouped(input, key::apply, hash);
    while (grouped.hasNext()) {
      found.add((UnsafeRow) grouped.next().copy());
    }
    return found;
  }

  @Test
  void rowsOfAKeyStandSideBySideWhateverKeysShareAHash() {
    Seeds.each(random -> {
      for (int i = 0; i < 200; i++) {
        regroupAndJudge(random);
      }
    });
  }

  private static void regroupAndJudge(Random random) {
    int hashes = 1 + random.nextInt(4);
    ToLongFunction<InternalRow> hash =
        row -> row.isNullAt(0) ? 0 : row.getUTF8String(0).hashCode() % hashes;
    List<UnsafeRow> rows = rows(random);
    rows.sort(Comparator.comparingLong(hash));
    List<UnsafeRow> found = regrouped(rows, hash);
    assertEquals(new HashSet<>(rows), new HashSet<>(found));
    assertEquals(rows.size(), found.size());
    Set<String> seen = new HashSet<>();
    String last = "none";
    for (UnsafeRow row : found) {
      String key = row.isNullAt(0) ? "NULL" : row.getUTF8String(0).toString();
      if (!key.equals(last)) {
        assertTrue(seen.add(key), "the rows of " + key + " come in two places");
      }
      last = key;
    }
  }
}
