package millstream.join;

import java.util.ArrayList;
import java.util.Collections;
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
import millstream.state.Bag;
import millstream.state.Held;
import millstream.state.Pile;
import millstream.state.Side;
import millstream.state.Value;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.streaming.StatefulProcessorHandle;
import org.apache.spark.sql.types.StructType;

/**
 * The inner join of two weighted inputs on their key.
 *
 * <pre>
 *   change of the left  ─▶ meets all right rows, then joins the left bag
 *   change of the right ─▶ meets all left rows,  then joins the right bag
 * </pre>
 *
 * Taken one change after the other, this is the product rule ΔL⋈R + L⋈ΔR + ΔL⋈ΔR.
 */
public final class Join extends Operator {
  private static final long serialVersionUID = 1L;

  private final StructType[] types;
  private final int leftPort;
  /** For each side, whether its rows are never taken back. */
  private final boolean[] appendOnly;

  private final Residual residual;
  private transient Value state;
  private transient Side[] sides;

  /**
   * Its settings.
   *
   * @param appendOnlySides for each side, whether its rows are never taken back
   * @param residual what pairs must meet, as SQL over {@code l} and {@code r}; NULL: nothing
   */
  public record Told(List<Boolean> appendOnlySides, String residual) {}

  public Join(OperatorSpec spec, Told told) {
    super(spec.name(), false);
    this.types = new StructType[] {spec.input(0), spec.input(1)};
    this.leftPort = spec.port();
    this.appendOnly = new boolean[] {told.appendOnlySides.get(0), told.appendOnlySides.get(1)};
    this.residual = Residual.of(spec, told.residual);
  }

  @Override
  public StructType outputType() {
    return new StructType().add("l", types[0], false).add("r", types[1], false);
  }

  @Override
  public void open(StatefulProcessorHandle handle) {
    StructType both = new StructType().add("l", saved(0), false).add("r", saved(1), false);
    state = new Value(handle, name + "_sides", both);
    sides = new Side[] {side(handle, name + "_left", 0), side(handle, name + "_right", 1)};
  }

  private StructType saved(int side) {
    return appendOnly[side] ? Pile.type(types[side]) : Bag.type(types[side]);
  }

  private Side side(StatefulProcessorHandle handle, String name, int side) {
    return appendOnly[side]
        ? new Pile(handle, name, types[side])
        : new Bag(name, types[side], Bag.spill(handle, name, types[side]));
  }

  @Override
  public Iterator<Change> process(InternalRow key, Changes changes, Moment moment) {
    InternalRow saved = state.get();
    for (int side = 0; side < 2; side++) {
      sides[side].load(saved == null ? null : saved.getStruct(side, 2));
    }
    return new Matches(
        appendOnly[0] && appendOnly[1]
            ? new AsTheyCome(changes)
            : netted(changes).iterator());
  }

  /** One input change, on its side. */
  private record Input(int side, InternalRow row, long weight) {}

  /** Append-only input needs no netting, so that a key with very many new rows is never held in memory. */
  private final class AsTheyCome implements Iterator<Input> {
    private final Changes changes;

    AsTheyCome(Changes changes) {
      this.changes = changes;
    }

    @Override
    public boolean hasNext() {
      return changes.next();
    }

    @Override
    public Input next() {
      return new Input(changes.port() - leftPort, changes.payload().copy(), changes.weight());
    }
  }

  /**
   * The net change per row, retractions first: the shuffle may have put a retraction before its row. Rows of a stream
   * come last, so that they meet what a table has become, and are as they are.
   */
  private List<Input> netted(Changes changes) {
    List<Map<InternalRow, Long>> net = List.of(new HashMap<>(), new HashMap<>());
    List<Input> streamed = new ArrayList<>();
    while (changes.next()) {
      int side = changes.port() - leftPort;
      if (appendOnly[side]) {
        streamed.add(new Input(side, changes.payload().copy(), changes.weight()));
      } else {
        net.get(side).merge(changes.payload().copy(), changes.weight(), Long::sum);
      }
    }
    List<Input> inputs = new ArrayList<>();
    for (int side = 0; side < 2; side++) {
      for (Map.Entry<InternalRow, Long> entry : net.get(side).entrySet()) {
        if (entry.getValue() != 0) {
          inputs.add(new Input(side, entry.getKey(), entry.getValue()));
        }
      }
    }
    inputs.sort((a, b) -> Boolean.compare(a.weight() > 0, b.weight() > 0));
    inputs.addAll(streamed);
    return inputs;
  }

  /** The matches of each input in turn; when there are no more, the state is written. */
  private final class Matches implements Iterator<Change> {
    private final Iterator<Input> inputs;
    private Input input;
    private Iterator<Held> partners = Collections.emptyIterator();
    private Held partner;
    private boolean finished;

    Matches(Iterator<Input> inputs) {
      this.inputs = inputs;
    }

    @Override
    public boolean hasNext() {
      while (partner == null && !finished) {
        if (partners.hasNext()) {
          Held next = partners.next();
          partner = meets(next) ? next : null;
        } else {
          advance();
        }
      }
      return partner != null;
    }

    private boolean meets(Held other) {
      boolean left = input.side() == 0;
      return residual == null || residual.met(left ? input.row() : other.row, left ? other.row : input.row());
    }

    private void advance() {
      if (input != null) {
        sides[input.side()].add(input.row(), input.weight());
        input = null;
      }
      if (inputs.hasNext()) {
        input = inputs.next();
        partners = sides[1 - input.side()].iterator();
      } else {
        finished = true;
        save();
      }
    }

    @Override
    public Change next() {
      if (!hasNext()) {
        throw new NoSuchElementException();
      }
      Object[] pair = new Object[2];
      pair[input.side()] = input.row();
      pair[1 - input.side()] = partner.row;
      long weight = Math.multiplyExact(input.weight(), partner.weight);
      partner = null;
      return new Change(new GenericInternalRow(pair), weight);
    }
  }

  private void save() {
    if (sides[0].isEmpty() && sides[1].isEmpty()) {
      state.clear();
    } else if (sides[0].dirty() || sides[1].dirty()) {
      state.update(new GenericInternalRow(new Object[] {sides[0].save(), sides[1].save()}));
    }
  }
}
