package millstream.table;

import java.util.Collections;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.Map;
import millstream.operator.Moment;
import millstream.operator.Operator;
import millstream.operator.OperatorSpec;
import millstream.row.Change;
import millstream.row.Changes;
import millstream.state.Bag;
import millstream.state.Held;
import millstream.state.Value;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.streaming.StatefulProcessorHandle;
import org.apache.spark.sql.types.StructType;

/**
 * Brings the changes of one table key together, in order, before they are written as upserts.
 *
 * <p>An update of a row may take its old form back in one task and add the new one in another. Whichever arrives first,
 * what is sent on is always the one row that the key has now: taken back, then added.
 */
public final class Collapse extends Operator {
  private static final long serialVersionUID = 1L;

  private final StructType rowType;
  private transient Value state;
  private transient Bag rows;

  /** It has no settings. */
  public record Told() {}

  public Collapse(OperatorSpec spec, Told told) {
    super(spec.name(), spec.upserts());
    this.rowType = spec.input(0);
  }

  @Override
  public StructType outputType() {
    return rowType;
  }

  @Override
  public void open(StatefulProcessorHandle handle) {
    StructType type = new StructType().add("rows", Bag.type(rowType), false).add("sent", rowType, true);
    state = new Value(handle, name + "_rows", type);
    rows = new Bag(name, rowType, Bag.spill(handle, name + "_more", rowType));
  }

  @Override
  public Iterator<Change> process(InternalRow key, Changes changes, Moment moment) {
    InternalRow saved = state.get();
    rows.load(saved == null ? null : saved.getStruct(0, 2));
    InternalRow sent = saved == null || saved.isNullAt(1) ? null : saved.getStruct(1, rowType.length());
    InternalRow now = current(netted(changes), sent);
    if (rows.isEmpty()) {
      state.clear();
    } else {
      state.update(new GenericInternalRow(new Object[] {rows.save(), now}));
    }
    boolean same = sent == null ? now == null : sent.equals(now);
    return same ? Collections.emptyIterator() : replaced(sent, now).iterator();
  }

  private static Map<InternalRow, Long> netted(Changes changes) {
    Map<InternalRow, Long> net = new LinkedHashMap<>();
    while (changes.next()) {
      net.merge(changes.payload().copy(), changes.weight(), Long::sum);
    }
    return net;
  }

  /** Applies the changes; the key's row is the one that was added last, if it is still there. */
  private InternalRow current(Map<InternalRow, Long> net, InternalRow sent) {
    InternalRow newest = null;
    for (Map.Entry<InternalRow, Long> change : net.entrySet()) {
      if (change.getValue() != 0) {
        rows.add(change.getKey(), change.getValue());
        newest = change.getValue() > 0 ? change.getKey() : newest;
      }
    }
    if (newest != null) {
      return newest;
    }
    return sent != null && net.getOrDefault(sent, 0L) == 0 ? sent : any();
  }

  private InternalRow any() {
    Iterator<Held> left = rows.iterator();
    return left.hasNext() ? left.next().row : null;
  }
}
