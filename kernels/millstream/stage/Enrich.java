package millstream.stage;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.streaming.StatefulProcessorHandle;
import org.apache.spark.sql.types.StructType;

/**
 * Each row of a stream with the rows that a table has for its key now: answered once, never corrected.
 *
 * <pre>
 *   change of the table ─▶ joins the bag; an upsert takes the place of the row with its key
 *   row of the stream   ─▶ meets the bag, and is forgotten
 * </pre>
 *
 * Of all that an epoch brings at once, the table's changes come first: what is answered does not depend on how the
 * shuffle mixed them. In real time rows come one by one, and meet what is known by then.
 */
final class Enrich extends Operator {
  private static final long serialVersionUID = 1L;

  private final StructType rowType;
  private final StructType tableType;
  private final int streamPort;
  /** Whether rows that meet nothing are sent on, too. */
  private final boolean outer;
  /** The table's key, if a new row takes the place of the one with its key: the old one need not be taken back. */
  private final int[] replaces;

  /** Whether the table comes as upserts, {@code row, gone, place}, of which the last counts. */
  private final boolean upserts;

  private final Condition condition;
  private transient Value state;
  private transient Bag table;

  Enrich(OperatorSpec spec) {
    super(spec.name(), false);
    this.rowType = spec.input(0);
    this.upserts = spec.flag("tombstones");
    this.tableType = upserts ? (StructType) spec.input(1).fields()[0].dataType() : spec.input(1);
    this.streamPort = spec.port();
    this.outer = spec.flag("outer");
    this.replaces = spec.numbers("replaces");
    this.condition = spec.condition(pairType(rowType, tableType));
  }

  static Enrich of(OperatorSpec spec) {
    return new Enrich(spec);
  }

  /** A row of the stream and one of the table, NULL if there is none. */
  static StructType pairType(StructType left, StructType right) {
    return new StructType().add("l", left, false).add("r", right, true);
  }

  @Override
  StructType outputType() {
    return pairType(rowType, tableType);
  }

  @Override
  void open(StatefulProcessorHandle handle) {
    StructType type = new StructType().add("rows", Bag.type(tableType), false);
    state = new Value(handle, name + "_table", type);
    table = new Bag(this, tableType, Bag.spill(handle, name + "_more", tableType));
  }

  @Override
  Iterator<Change> process(InternalRow key, Changes changes) {
    InternalRow saved = state.get();
    table.load(saved == null ? null : saved.getStruct(0, 2));
    List<Change> rows = new ArrayList<>();
    Map<InternalRow, Long> net = new HashMap<>();
    List<InternalRow> put = new ArrayList<>();
    while (changes.next()) {
      if (changes.port() == streamPort) {
        rows.add(new Change(changes.payload().copy(), changes.weight()));
      } else if (upserts) {
        put.add(changes.payload().copy());
      } else {
        net.merge(changes.payload().copy(), changes.weight(), Long::sum);
      }
    }
    net.values().removeIf(weight -> weight == 0);
    apply(net);
    put.sort(Comparator.comparingLong(upsert -> upsert.getLong(2)));
    replace(put.stream().map(this::upsert).toList());
    save();
    return new Answers(rows.iterator());
  }

  private void apply(Map<InternalRow, Long> net) {
    List<Upsert> added = new ArrayList<>();
    for (boolean adding : new boolean[] {false, true}) {
      for (Map.Entry<InternalRow, Long> change : net.entrySet()) {
        if (change.getValue() > 0 == adding) {
          if (adding && replaces.length > 0) {
            added.add(new Upsert(change.getKey(), false));
          } else {
            table.add(change.getKey(), change.getValue());
          }
        }
      }
    }
    replace(added);
  }

  /** A row to put in the place of the one with its key, or only to take that one away. */
  private record Upsert(InternalRow row, boolean gone) {}

  private Upsert upsert(InternalRow payload) {
    return new Upsert(payload.getStruct(0, tableType.length()), payload.getBoolean(1));
  }

  /** One after the other; the rows that are there, which may be many, are gone through once. */
  private void replace(List<Upsert> rows) {
    if (rows.isEmpty()) {
      return;
    }
    Map<Key, Held> known = new HashMap<>();
    rows.forEach(upsert -> known.put(key(upsert.row), null));
    for (Iterator<Held> all = table.iterator(); all.hasNext(); ) {
      Held held = all.next();
      known.replace(key(held.row), held);
    }
    for (Upsert upsert : rows) {
      Held old = known.get(key(upsert.row));
      if (old != null && (upsert.gone || !old.row.equals(upsert.row))) {
        table.add(old.row, -old.weight);
      }
      if (!upsert.gone && (old == null || !old.row.equals(upsert.row))) {
        table.add(upsert.row, 1);
        old = new Held(upsert.row, 1, 0);
      }
      known.put(key(upsert.row), upsert.gone ? null : old);
    }
  }

  private Key key(InternalRow row) {
    Object[] values = new Object[replaces.length];
    for (int i = 0; i < values.length; i++) {
      Object value = row.isNullAt(replaces[i]) ? null : row.get(replaces[i], tableType.fields()[replaces[i]].dataType());
      // The two zeros are one key.
      values[i] = value instanceof Number number && number.doubleValue() == 0 ? 0 : value;
    }
    return new Key(values);
  }

  private record Key(Object[] values) {
    @Override
    public boolean equals(Object other) {
      return other instanceof Key key && Arrays.deepEquals(values, key.values);
    }

    @Override
    public int hashCode() {
      return Arrays.deepHashCode(values);
    }
  }

  private void save() {
    if (!table.dirty()) {
      return;
    }
    if (table.isEmpty()) {
      state.clear();
    } else {
      state.update(new GenericInternalRow(new Object[] {table.save()}));
    }
  }

  /** The answers to each row in turn. */
  private final class Answers implements Iterator<Change> {
    private final Iterator<Change> rows;
    private Change row;
    private boolean met;
    private Iterator<Held> partners = Collections.emptyIterator();
    private Change next;

    Answers(Iterator<Change> rows) {
      this.rows = rows;
    }

    @Override
    public boolean hasNext() {
      while (next == null && (row != null || rows.hasNext())) {
        advance();
      }
      return next != null;
    }

    private void advance() {
      if (row == null) {
        row = rows.next();
        met = false;
        partners = table.iterator();
      }
      while (next == null && partners.hasNext()) {
        Held partner = partners.next();
        next = answer(row.row(), partner.row, Math.multiplyExact(row.weight(), partner.weight));
        met |= next != null;
      }
      if (!partners.hasNext()) {
        if (!met && outer) {
          next = new Change(pair(row.row(), null), row.weight());
        }
        row = null;
      }
    }

    @Override
    public Change next() {
      if (!hasNext()) {
        throw new NoSuchElementException();
      }
      Change answer = next;
      next = null;
      return answer;
    }
  }

  private Change answer(InternalRow row, InternalRow partner, long weight) {
    InternalRow pair = pair(row, partner);
    return condition == null || condition.meets(pair) ? new Change(pair, weight) : null;
  }

  static InternalRow pair(InternalRow left, InternalRow right) {
    return new GenericInternalRow(new Object[] {left, right});
  }
}
