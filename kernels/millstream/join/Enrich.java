package millstream.join;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;
import millstream.operator.Moment;
import millstream.operator.Operator;
import millstream.operator.OperatorSpec;
import millstream.row.Change;
import millstream.row.Changes;
import millstream.row.Condition;
import millstream.state.Bag;
import millstream.state.Held;
import millstream.state.Value;
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
public final class Enrich extends Operator {
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

  /** Where an upsert has its row, whether that is gone, and its place in the log. */
  private final int row;

  private final int gone;
  private final int place;
  private final Condition condition;
  private transient Value state;
  private transient Bag table;

  /**
   * Its settings.
   *
   * @param tombstones whether the table comes as upserts
   * @param condition what pairs must meet, as SQL over {@code l} and {@code r}; NULL: nothing
   * @param replaces the table's key, if a row takes the place of the one before it
   */
  public record Told(boolean outer, boolean tombstones, String condition, List<String> replaces) {}

  public Enrich(OperatorSpec spec, Told told) {
    super(spec.name(), false);
    this.rowType = spec.input(0);
    this.upserts = told.tombstones;
    StructType table = spec.input(1);
    this.row = upserts ? table.fieldIndex("row") : -1;
    this.gone = upserts ? table.fieldIndex("gone") : -1;
    this.place = upserts ? table.fieldIndex("place") : -1;
    this.tableType = upserts ? (StructType) table.fields()[row].dataType() : table;
    this.streamPort = spec.port();
    this.outer = told.outer;
    this.replaces = told.replaces.stream().mapToInt(tableType::fieldIndex).toArray();
    this.condition = spec.condition(told.condition, pairType(rowType, tableType));
  }

  /** A row of the stream and one of the table, NULL if there is none. */
  static StructType pairType(StructType left, StructType right) {
    return new StructType().add("l", left, false).add("r", right, true);
  }

  @Override
  public StructType outputType() {
    return pairType(rowType, tableType);
  }

  @Override
  public void open(StatefulProcessorHandle handle) {
    StructType type = new StructType().add("rows", Bag.type(tableType), false);
    state = new Value(handle, name + "_table", type);
    table = new Bag(name, tableType, Bag.spill(handle, name + "_more", tableType));
  }

  @Override
  public Iterator<Change> process(InternalRow key, Changes changes, Moment moment) {
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
    put.sort(Comparator.comparingLong(upsert -> upsert.getLong(place)));
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
    return new Upsert(payload.getStruct(row, tableType.length()), payload.getBoolean(gone));
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
      Object value =
          row.isNullAt(replaces[i]) ? null : row.get(replaces[i], tableType.fields()[replaces[i]].dataType());
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
