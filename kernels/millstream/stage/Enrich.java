package millstream.stage;

import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.Objects;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.streaming.StatefulProcessorHandle;
import org.apache.spark.sql.streaming.TTLConfig;
import org.apache.spark.sql.streaming.ValueState;
import org.apache.spark.sql.types.DataType;
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
  private transient ValueState<InternalRow> state;
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
    state = handle.getValueState(name + "_table", new InternalRowEncoder(type), TTLConfig.NONE());
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
    put.forEach(upsert -> replace(upsert.getStruct(0, tableType.length()), upsert.getBoolean(1)));
    save();
    return new Answers(rows.iterator());
  }

  private void apply(Map<InternalRow, Long> net) {
    for (boolean adding : new boolean[] {false, true}) {
      for (Map.Entry<InternalRow, Long> change : net.entrySet()) {
        if (change.getValue() > 0 == adding) {
          if (adding && replaces.length > 0) {
            replace(change.getKey(), false);
          } else {
            table.add(change.getKey(), change.getValue());
          }
        }
      }
    }
  }

  /** Puts a row in the place of the one with its key, or only takes that one away. */
  private void replace(InternalRow row, boolean gone) {
    Held old = null;
    for (Iterator<Held> all = table.iterator(); old == null && all.hasNext(); ) {
      Held other = all.next();
      old = sameKey(other.row, row) ? other : null;
    }
    if (old != null && !gone && old.row.equals(row)) {
      return;
    }
    if (old != null) {
      table.add(old.row, -old.weight);
    }
    if (!gone) {
      table.add(row, 1);
    }
  }

  private boolean sameKey(InternalRow one, InternalRow other) {
    for (int i : replaces) {
      DataType type = tableType.fields()[i].dataType();
      Object a = one.isNullAt(i) ? null : one.get(i, type);
      Object b = other.isNullAt(i) ? null : other.get(i, type);
      boolean zeros = a instanceof Number x && b instanceof Number y && x.doubleValue() == 0 && y.doubleValue() == 0;
      if (!zeros && !Objects.deepEquals(a, b)) {
        return false;
      }
    }
    return true;
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
