package millstream.stage;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.function.ToLongFunction;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import scala.collection.Iterator;

/**
 * Rows in the order of a hash of their key, each key's rows side by side.
 *
 * <p>Different keys may have the same hash, if hardly ever: then their rows come mixed. From the first row on that has
 * another key and the same hash as the row before, rows are held until the hash changes, and given key by key.
 */
final class Regrouped extends scala.collection.AbstractIterator<InternalRow> {
  private final Iterator<InternalRow> rows;
  private final Function<InternalRow, UnsafeRow> keyOf;
  private final ToLongFunction<InternalRow> hashOf;

  /** Of the row that was given last, or NULL. */
  private UnsafeRow key;

  private long hash;
  private final Deque<InternalRow> held = new ArrayDeque<>();
  /** Behind those that are held; NULL: not read yet. */
  private InternalRow ahead;

  /** {@code keyOf} may give the same object each time. */
  Regrouped(Iterator<InternalRow> rows, Function<InternalRow, UnsafeRow> keyOf, ToLongFunction<InternalRow> hashOf) {
    this.rows = rows;
    this.keyOf = keyOf;
    this.hashOf = hashOf;
  }

  @Override
  public boolean hasNext() {
    return !held.isEmpty() || ahead != null || rows.hasNext();
  }

  @Override
  public InternalRow next() {
    if (!held.isEmpty()) {
      return held.poll();
    }
    InternalRow row = ahead == null ? rows.next() : ahead;
    ahead = null;
    UnsafeRow own = keyOf.apply(row);
    if (own.equals(key)) {
      return row;
    }
    long before = hash;
    hash = hashOf.applyAsLong(row);
    if (key != null && before == hash) {
      hold(row);
      return held.poll();
    }
    key = own.copy();
    return row;
  }

  /** All rows of this hash that are left, the first key's first. */
  private void hold(InternalRow first) {
    Map<UnsafeRow, List<InternalRow>> byKey = new LinkedHashMap<>();
    byKey.put(key, new ArrayList<>());
    InternalRow row = first;
    while (row != null && hashOf.applyAsLong(row) == hash) {
      UnsafeRow own = keyOf.apply(row);
      List<InternalRow> same = byKey.get(own);
      if (same == null) {
        same = new ArrayList<>();
        byKey.put(own.copy(), same);
      }
      same.add(row.copy());
      row = rows.hasNext() ? rows.next() : null;
    }
    byKey.values().forEach(held::addAll);
    ahead = row;
    // No row that follows has this hash.
    key = null;
  }
}
