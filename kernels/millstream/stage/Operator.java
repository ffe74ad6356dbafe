package millstream.stage;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Iterator;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.streaming.StatefulProcessorHandle;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.util.LongAccumulator;

/** One stateful operator of a stage: changes of one key in, changes out. */
abstract class Operator implements Serializable {
  private static final long serialVersionUID = 1L;

  /** How far event time has come, in milliseconds; set before each group. See {@link #follows}. */
  transient long watermark = Long.MIN_VALUE;

  /**
   * Whether rows come from a step that lets them wait, and sends them when their time is past. What is over ends when all rows
   * of the epoch are there; so for rows, the watermark is that of the epoch before: what it has not ended is still open.
   */
  boolean follows;

  /**
   * What ends by then ends with the rows of the group, if the operator {@link #follows}: they are all of the epoch. So it needs no
   * state and no timer. In real time it is never, as rows come one by one.
   */
  transient long ended = Long.MIN_VALUE;

  /** The epoch's time on the clock, in milliseconds; set before each group. */
  transient long now = Long.MIN_VALUE;

  /** The stable name: state variables carry it, so that state is found again by name. */
  final String name;
  /** Whether all that reads it upserts by its key: then an update need not take the old row back first. */
  private final boolean upserts;

  Operator(String name, boolean upserts) {
    this.name = name;
    this.upserts = upserts;
  }

  private LongAccumulator late;

  final void countLate(LongAccumulator counter) {
    late = counter;
  }

  final void late(long rows) {
    late.add(rows);
  }

  /** The changes that put one row of a key in another's place; NULL: there is none. */
  final List<Change> replaced(InternalRow before, InternalRow after) {
    List<Change> out = new ArrayList<>(2);
    if (before != null && (after == null || !upserts)) {
      out.add(new Change(before, -1));
    }
    if (after != null) {
      out.add(new Change(after, 1));
    }
    return out;
  }

  abstract StructType outputType();

  /** Declares the state; called once per task and epoch. */
  abstract void open(StatefulProcessorHandle handle);

  /** The changes that one group of input changes causes. May be lazy: Spark sets the key again on each step. */
  abstract Iterator<Change> process(InternalRow key, Changes changes);

  /** What a timer of a key causes that it set for this time. */
  Iterator<Change> expired(InternalRow key, long at) {
    return Collections.emptyIterator();
  }

  /** Whether its one group is called in every epoch, also if there are no rows for it. */
  boolean seeded() {
    return false;
  }

  /** Whether it gathers the rows of many keys: then it is told when the input ends. */
  boolean gathers() {
    return false;
  }

  /** What it still has to say when the input of a task ends; the key is that of the task's last row, {@code operator} its own tag. */
  Iterator<Change> finish(InternalRow key, int operator) {
    return Collections.emptyIterator();
  }

  /** Whether inputs of the same key may be merged before the shuffle. */
  boolean combines() {
    return false;
  }

  /** Merges the inputs of one key before the shuffle. */
  Partial partial() {
    throw new UnsupportedOperationException(name + " does not combine");
  }

  IllegalStateException absent(String what) {
    return new IllegalStateException(
        "MS-STATE-001: step \"" + name + "\" was asked to take back " + what + " that is not there."
            + " The sender retracted a row that it never sent, or sent it under another key.");
  }
}
