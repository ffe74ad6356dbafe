package millstream.stage;

import java.io.Serializable;
import java.util.Arrays;
import java.util.Iterator;
import millstream.metrics.CoarseClock;
import millstream.metrics.Counts;
import millstream.operator.Operator;
import millstream.row.Change;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/**
 * What leaves a stage: {@code _op} (if there are several operators), {@code _w}, {@code _seen} (if changes say which
 * readers see them), one struct per operator.
 */
final class StageOutput implements Serializable {
  private static final long serialVersionUID = 1L;

  private final Operator[] operators;
  /** Whether changes say which readers see them. */
  private final boolean tells;
  /** By operator, where people may look at what it sends on; null: they may not. */
  private Shown[] shown;

  StageOutput(Operator[] operators) {
    this.operators = operators;
    this.tells = Arrays.stream(operators).anyMatch(Operator::tellsReadersApart);
  }

  /** Lets people look at what an operator sends on. */
  void show(int operator, Shown where) {
    if (shown == null) {
      shown = new Shown[operators.length];
    }
    shown[operator] = where;
  }

  StructType type() {
    StructType type = new StructType();
    if (operators.length > 1) {
      type = type.add("_op", DataTypes.IntegerType, false);
    }
    type = type.add("_w", DataTypes.LongType, false);
    if (tells) {
      type = type.add("_seen", DataTypes.LongType, false);
    }
    for (int i = 0; i < operators.length; i++) {
      type = type.add("_o" + i, operators[i].outputType(), operators.length > 1);
    }
    return type;
  }

  /** An operator's changes, in the stage's columns. */
  scala.collection.Iterator<InternalRow> rows(int operator, Counts counts, Iterator<Change> changes) {
    return new Tagged(operator, counts, changes);
  }

  private final class Tagged extends scala.collection.AbstractIterator<InternalRow> {
    private final int index;
    private final Counts counts;
    private final Iterator<Change> changes;

    Tagged(int index, Counts counts, Iterator<Change> changes) {
      this.index = index;
      this.counts = counts;
      this.changes = changes;
    }

    /** Where an operator is lazy, this is where it works. */
    @Override
    public boolean hasNext() {
      long begun = CoarseClock.nanos();
      boolean more = changes.hasNext();
      counts.nanos += CoarseClock.nanos() - begun;
      return more;
    }

    @Override
    public InternalRow next() {
      Change change = changes.next();
      counts.rowsOut++;
      if (shown != null && shown[index] != null) {
        shown[index].see(change);
      }
      if (operators.length == 1 && !tells) {
        return new GenericInternalRow(new Object[] {change.weight(), change.row()});
      }
      int first = (operators.length > 1 ? 2 : 1) + (tells ? 1 : 0);
      Object[] values = new Object[first + operators.length];
      values[0] = index;
      values[operators.length > 1 ? 1 : 0] = change.weight();
      if (tells) {
        values[first - 1] = change.seen();
      }
      values[first + index] = change.row();
      return new GenericInternalRow(values);
    }
  }
}
