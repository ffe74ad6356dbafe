package millstream.join;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Deque;
import java.util.Iterator;
import java.util.List;
import java.util.Locale;
import java.util.NoSuchElementException;
import millstream.operator.Moment;
import millstream.operator.Operator;
import millstream.operator.OperatorSpec;
import millstream.row.Change;
import millstream.row.Changes;
import millstream.state.Alarm;
import millstream.state.Bag;
import millstream.state.Held;
import millstream.state.Lifetime;
import millstream.state.Value;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.streaming.StatefulProcessorHandle;
import org.apache.spark.sql.types.StructType;

/**
 * A join that also sends rows by themselves: because they have no partner (left, right, full, anti), or have one
 * (semi); or that forgets rows when their time is over.
 *
 * <pre>
 *   changes of the right ─▶ meet each left row: pairs; the row is sent, or taken back, as it loses or finds partners
 *   changes of the left  ─▶ meet each right row, likewise
 * </pre>
 *
 * Without a residual all rows of a key are partners: a row has one if the other side is not empty. With one, each row
 * keeps the number of its partners. Each side is read at most once for all changes of an epoch, row by row, and what a
 * row is after all of them is compared with what it was before: nothing is sent that is taken back in the same epoch.
 */
public final class CountedJoin extends Operator {
  private static final long serialVersionUID = 1L;

  /** How many rows of streams are taken at once: a key with very many new rows is never held in memory. */
  private static final int AT_ONCE = 4_096;

  private final StructType[] types;
  private final int leftPort;
  private final int[] keySlots;
  final boolean appendOnly;
  final How how;
  final Residual residual;
  /** For each side how long its rows are kept; NULL: as long as they are not taken back. */
  final Lifetime[] lifetimes;
  /** Whether rows without a partner go out when their time is over, and not before. */
  final boolean waits;

  private transient Value state;
  transient Bag[] sides;
  transient Alarm alarm;
  private transient boolean stored;
  private transient UnsafeProjection[] forms;

  /**
   * Its settings.
   *
   * @param appendOnlySides for each side, whether its rows are never taken back
   * @param residual what pairs must meet, as SQL over {@code l} and {@code r}; NULL: nothing
   * @param waits whether rows without a partner go out when their time is over, and not before
   * @param lifetimes for each side how long its rows are kept; NULL: as long as they are not taken back
   */
  public record Told(
      String how, List<Boolean> appendOnlySides, String residual, boolean waits, List<Lifetime.Told> lifetimes) {}

  public CountedJoin(OperatorSpec spec, Told told) {
    super(spec.name(), false);
    this.types = new StructType[] {spec.input(0), spec.input(1)};
    this.leftPort = spec.port();
    this.keySlots = spec.keySlots();
    this.appendOnly = told.appendOnlySides.get(0) && told.appendOnlySides.get(1);
    this.how = How.valueOf(told.how.toUpperCase(Locale.ROOT));
    this.residual = Residual.of(spec, told.residual);
    this.lifetimes =
        new Lifetime[] {Lifetime.of(told.lifetimes.get(0), types[0]), Lifetime.of(told.lifetimes.get(1), types[1])};
    this.waits = told.waits && how != How.SEMI;
  }

  @Override
  public StructType outputType() {
    StructType left = new StructType().add("l", types[0], how.single(1));
    return how.pairs() ? left.add("r", types[1], how.single(0)) : left;
  }

  /** Whether each row of a side keeps the number of its partners. */
  boolean counted(int side) {
    return (residual != null || ends()) && how.single(side);
  }

  /** Whether rows are forgotten: then an empty side does not say that its rows never had partners. */
  private boolean ends() {
    return lifetimes[0] != null || lifetimes[1] != null;
  }

  @Override
  public void open(StatefulProcessorHandle handle) {
    StructType both = new StructType()
        .add("l", Bag.type(types[0], counted(0)), false)
        .add("r", Bag.type(types[1], counted(1)), false);
    both = ends() ? both.add("alarm", Alarm.TYPE, false) : both;
    state = new Value(handle, name + "_sides", both);
    sides = new Bag[] {bag(handle, 0, "_left"), bag(handle, 1, "_right")};
    alarm = new Alarm(handle);
    forms = new UnsafeProjection[] {UnsafeProjection.create(types[0]), UnsafeProjection.create(types[1])};
  }

  private Bag bag(StatefulProcessorHandle handle, int side, String suffix) {
    return new Bag(name, types[side], counted(side), Bag.spill(handle, name + suffix, types[side], counted(side)));
  }

  @Override
  public Iterator<Change> process(InternalRow key, Changes changes, Moment moment) {
    if (matchesNothing(key)) {
      return alone(changes, moment);
    }
    load(state.get());
    return new Rounds(changes, moment);
  }

  private void load(InternalRow saved) {
    stored = saved != null;
    for (int side = 0; side < 2; side++) {
      sides[side].load(saved == null ? null : saved.getStruct(side, 2));
    }
    alarm.load(saved == null || !ends() ? null : saved.getStruct(2, 1));
  }

  /** The row in the form in which rows come in: those of map state have another one, and would not be equal. */
  InternalRow comparable(int side, InternalRow row) {
    return row instanceof UnsafeRow ? row : forms[side].apply(row);
  }

  /** NULL equals nothing, itself included. */
  private boolean matchesNothing(InternalRow key) {
    for (int slot : keySlots) {
      if (key.isNullAt(slot)) {
        return true;
      }
    }
    return false;
  }

  /** Rows that will never have a partner go straight on, and need no state. */
  private Iterator<Change> alone(Changes changes, Moment moment) {
    if (appendOnly) {
      return changes.each(
          () -> single(changes.port() - leftPort, changes.payload(), changes.weight()), each -> inTime(each, moment));
    }
    NetChanges[] deltas = {new NetChanges(), new NetChanges()};
    take(changes, deltas, moment);
    List<Change> out = new ArrayList<>();
    for (int side = 0; side < 2; side++) {
      for (Held change : deltas[side].rows()) {
        out.add(single(side, change.row, change.weight));
      }
    }
    return out.iterator();
  }

  /** Takes the net changes of each side; of streams at most {@link #AT_ONCE}. Zero: there are no more. */
  private int take(Changes changes, NetChanges[] deltas, Moment moment) {
    int taken = 0;
    while ((!appendOnly || taken < AT_ONCE) && changes.next()) {
      if (inTime(changes, moment)) {
        deltas[changes.port() - leftPort].add(changes.payload().copy(), changes.weight());
      }
      taken++;
    }
    deltas[0].close();
    deltas[1].close();
    return taken;
  }

  /** Whether these are all rows of the key, and all end with the epoch. */
  private boolean once(int taken, NetChanges[] deltas, long ended) {
    boolean all = !stored && (!appendOnly || taken < AT_ONCE);
    return all && ended != Moment.NEVER && end(0, deltas[0], ended) && end(1, deltas[1], ended);
  }

  private boolean end(int side, NetChanges delta, long ended) {
    return lifetimes[side] != null
        && delta.rows().stream().allMatch(one -> one.weight > 0 && lifetimes[side].end(one.row) <= ended);
  }

  /** Late rows are counted, and change nothing. */
  private boolean inTime(Changes changes, Moment moment) {
    Lifetime lifetime = lifetimes[changes.port() - leftPort];
    if (lifetime == null || !lifetime.isLate(changes.payload(), moment.watermark())) {
      return true;
    }
    late(changes.weight());
    return false;
  }

  Change single(int side, InternalRow row, long weight) {
    Object[] values = new Object[how.pairs() ? 2 : 1];
    values[side] = row;
    return new Change(new GenericInternalRow(values), weight);
  }

  /** Takes the changes of a key in rounds (one, unless they are very many), and writes the state at the end. */
  private final class Rounds implements Iterator<Change> {
    private final Changes changes;
    private final Moment moment;
    private final Deque<Change> out = new ArrayDeque<>();
    private JoinSteps round;
    private Iterator<Change> endings;

    Rounds(Changes changes, Moment moment) {
      this.changes = changes;
      this.moment = moment;
    }

    @Override
    public boolean hasNext() {
      while (out.isEmpty() && endings == null) {
        if (round == null || !round.advance()) {
          next(new NetChanges[] {new NetChanges(), new NetChanges()});
        }
      }
      return !out.isEmpty() || endings.hasNext();
    }

    private void next(NetChanges[] deltas) {
      int taken = take(changes, deltas, moment);
      if (taken > 0 && round == null && once(taken, deltas, moment.ended())) {
        round = new JoinOnce(CountedJoin.this, deltas, out);
      } else if (taken > 0) {
        round = new JoinRound(CountedJoin.this, deltas, out);
      } else if (alarm.due(moment.ended())) {
        alarm.ring(moment.ended());
        endings = new Endings(moment.ended());
      } else {
        save();
        endings = Collections.emptyIterator();
      }
    }

    @Override
    public Change next() {
      if (!hasNext()) {
        throw new NoSuchElementException();
      }
      return out.isEmpty() ? endings.next() : out.poll();
    }
  }

  private void save() {
    if (sides[0].isEmpty() && sides[1].isEmpty()) {
      alarm.clear();
      if (stored) {
        state.clear();
      }
    } else if (alarm.set() || sides[0].dirty() || sides[1].dirty()) {
      Object[] both = {sides[0].save(), sides[1].save()};
      state.update(new GenericInternalRow(ends() ? new Object[] {both[0], both[1], alarm.save()} : both));
    }
  }

  /** Rows whose time is over are dropped; those that waited for a partner in vain go out. */
  @Override
  public Iterator<Change> expired(InternalRow key, long at, Moment moment) {
    InternalRow saved = state.get();
    if (saved == null) {
      return Collections.emptyIterator();
    }
    load(saved);
    alarm.ring(at);
    return new Endings(moment.watermark());
  }

  private final class Endings implements Iterator<Change> {
    private final long watermark;
    private int side = -1;
    private Iterator<Held> rows = Collections.emptyIterator();
    private Change out;

    Endings(long watermark) {
      this.watermark = watermark;
    }

    @Override
    public boolean hasNext() {
      while (out == null && side < 2) {
        if (rows.hasNext()) {
          out = end(rows.next());
        } else if (++side == 2) {
          save();
        } else if (lifetimes[side] != null) {
          rows = sides[side].iterator();
        }
      }
      return out != null;
    }

    private Change end(Held held) {
      long end = lifetimes[side].end(held.row);
      if (end > watermark) {
        alarm.at(end);
        return null;
      }
      rows.remove();
      long weight = waits ? how.single(side, held.weight, held.partners > 0) : 0;
      return weight == 0 ? null : single(side, held.row, weight);
    }

    @Override
    public Change next() {
      if (!hasNext()) {
        throw new NoSuchElementException();
      }
      Change next = out;
      out = null;
      return next;
    }
  }
}
