package millstream.join;

import java.util.ArrayDeque;
import java.util.Collections;
import java.util.Deque;
import java.util.Iterator;
import millstream.row.Change;
import millstream.state.Bag;
import millstream.state.Held;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;

/** One round of changes, which meet the rows that are kept. */
final class JoinRound implements JoinSteps {
  private final CountedJoin join;
  private final Bag[] sides;
  private final NetChanges[] deltas;
  private final Deque<Change> out;
  /** Whether a side had rows before. */
  private final boolean[] full;

  private int scanned = -1;
  private Iterator<Held> rows = Collections.emptyIterator();

  JoinRound(CountedJoin join, NetChanges[] deltas, Deque<Change> out) {
    this.join = join;
    this.sides = join.sides;
    this.full = new boolean[] {!sides[0].isEmpty(), !sides[1].isEmpty()};
    this.deltas = deltas;
    this.out = out;
  }

  /** Left rows meet the right's changes, then right rows the left's. */
  @Override
  public boolean advance() {
    if (rows.hasNext()) {
      meet(scanned, rows.next());
      return true;
    }
    scanned++;
    switch (scanned) {
      case 0 -> {
        takeBack(0);
        takeBack(1);
        apply(1);
        rows = scan(0);
      }
      case 1 -> {
        count(1);
        apply(0);
        rows = scan(1);
        if (deltas[0].isEmpty()) {
          add(1);
        }
      }
      case 2 -> {
        count(0);
        add(0);
      }
      default -> {
        return false;
      }
    }
    return true;
  }

  private Iterator<Held> scan(int side) {
    boolean changed = full[1 - side] == sides[1 - side].isEmpty();
    boolean needed = join.how.pairs() || join.counted(0) || (side == 0 && changed);
    return deltas[1 - side].isEmpty() || !needed ? Collections.emptyIterator() : sides[side].iterator();
  }

  /** Rows that were sent by themselves and are gone; first, as another row with their key may come. */
  private void takeBack(int side) {
    for (Held change : deltas[side].rows()) {
      if (change.weight < 0) {
        boolean matched = join.counted(side) ? sides[side].get(change.row).partners > 0 : full[1 - side];
        send(side, change.row, now(side, change.weight, matched));
      }
    }
  }

  private void apply(int side) {
    for (Held change : deltas[side].rows()) {
      sides[side].add(change.row, change.weight);
      if (join.lifetimes[side] != null && change.weight > 0) {
        join.alarm.at(join.lifetimes[side].end(change.row));
      }
    }
  }

  /** The partners that new rows have found. */
  private void count(int side) {
    if (!join.counted(side)) {
      return;
    }
    for (Held change : deltas[side].rows()) {
      if (change.weight > 0) {
        Held held = sides[side].get(change.row);
        // It may have had partners that are forgotten by now.
        change.partners = Math.max(held.partners, change.partners);
        if (change.partners != held.partners) {
          sides[side].met(held, change.partners);
        }
      }
    }
  }

  /** New rows by themselves. */
  private void add(int side) {
    for (Held change : deltas[side].rows()) {
      if (change.weight > 0) {
        boolean matched = join.counted(side) ? change.partners > 0 : !sides[1 - side].isEmpty();
        send(side, change.row, now(side, change.weight, matched));
      }
    }
  }

  /**
   * A row that is there meets the changes of the other side.
   *
   * <p>When the left is read its own changes are yet to come, and what it loses must not meet what is new; when the
   * right is read its own have come, and what the left loses must not take back what it never met.
   */
  private void meet(int side, Held held) {
    long own = deltas[side].isEmpty() ? 0 : deltas[side].of(join.comparable(side, held.row));
    long kept = side == 0 ? held.weight + Math.min(own, 0) : held.weight - Math.max(own, 0);
    long partners = 0;
    Deque<Change> pairs = new ArrayDeque<>();
    for (Held change : deltas[1 - side].rows()) {
      InternalRow left = side == 0 ? held.row : change.row;
      InternalRow right = side == 0 ? change.row : held.row;
      if (join.residual != null && !join.residual.met(left, right)) {
        continue;
      }
      partners += change.weight;
      change.partners += held.weight;
      boolean whole = side == 0 ? change.weight < 0 : change.weight > 0;
      long weight = Math.multiplyExact(change.weight, whole ? held.weight : kept);
      if (join.how.pairs() && weight != 0) {
        pairs.add(new Change(new GenericInternalRow(new Object[] {left, right}), weight));
      }
    }
    long changed = changed(side, held, kept, partners);
    // A row may give its key to another one: it goes before, and comes after.
    if (changed < 0) {
      send(side, held.row, changed);
    }
    out.addAll(pairs);
    if (changed > 0) {
      send(side, held.row, changed);
    }
  }

  /** By how much more of a row is sent by itself, now that its partners have changed. */
  private long changed(int side, Held held, long kept, long partners) {
    if (!join.how.single(side)) {
      return 0;
    }
    boolean before = join.counted(side) ? held.partners > 0 : full[1 - side];
    boolean after = join.counted(side) ? held.partners + partners > 0 : !sides[1 - side].isEmpty();
    // Where nothing is ever taken back, it is enough to know that there is one.
    boolean known = join.appendOnly && before;
    if (join.counted(side) && partners != 0 && !known) {
      sides[side].met(held, held.partners + partners);
    }
    long rest = side == 0 ? kept : held.weight;
    return now(side, rest, after) - now(side, kept, before);
  }

  /** How much of a row's weight is sent by itself now. */
  private long now(int side, long weight, boolean matched) {
    return join.waits ? 0 : join.how.single(side, weight, matched);
  }

  private void send(int side, InternalRow row, long weight) {
    if (weight != 0) {
      out.add(join.single(side, row, weight));
    }
  }
}
