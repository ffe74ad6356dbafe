package millstream.join;

import java.util.Deque;
import java.util.Iterator;
import millstream.row.Change;
import millstream.state.Held;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;

/**
 * A key's rows that find no earlier ones, and whose time is over with the epoch: they meet each other, and nothing is
 * kept.
 */
final class JoinOnce implements JoinSteps {
  private final CountedJoin join;
  private final NetChanges[] deltas;
  private final Deque<Change> out;
  private final Iterator<Held> left;
  private boolean finished;

  JoinOnce(CountedJoin join, NetChanges[] deltas, Deque<Change> out) {
    this.join = join;
    this.deltas = deltas;
    this.out = out;
    this.left = deltas[0].rows().iterator();
  }

  @Override
  public boolean advance() {
    if (left.hasNext()) {
      meet(left.next());
      return true;
    }
    if (finished) {
      return false;
    }
    finished = true;
    deltas[1].rows().forEach(row -> single(1, row));
    return true;
  }

  private void meet(Held one) {
    for (Held other : deltas[1].rows()) {
      if (join.residual == null || join.residual.met(one.row, other.row)) {
        one.partners += other.weight;
        other.partners += one.weight;
        if (join.how.pairs()) {
          long weight = Math.multiplyExact(one.weight, other.weight);
          out.add(new Change(new GenericInternalRow(new Object[] {one.row, other.row}), weight));
        }
      }
    }
    single(0, one);
  }

  private void single(int side, Held held) {
    long weight = join.how.single(side, held.weight, held.partners > 0);
    if (weight != 0) {
      out.add(join.single(side, held.row, weight));
    }
  }
}
