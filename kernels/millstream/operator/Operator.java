package millstream.operator;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Iterator;
import java.util.List;
import millstream.metrics.Counts;
import millstream.row.Change;
import millstream.row.Changes;
import millstream.row.Image;
import millstream.state.Declared;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.streaming.StatefulProcessorHandle;
import org.apache.spark.sql.types.StructType;

/** One stateful operator of a stage: changes of one key in, changes out. */
public abstract class Operator implements Serializable {
  private static final long serialVersionUID = 1L;

  /**
   * Whether rows come from a step that lets them wait, and sends them when their time is past. What is over ends when
   * all rows of the epoch are there; so for rows, the watermark is that of the epoch before: what it has not ended is
   * still open.
   */
  private boolean follows;

  /** The stable name: state variables carry it, so that state is found again by name. */
  public final String name;
  /** Whether all that reads it upserts by its key: then an update need not take the old row back first. */
  private final boolean upserts;

  protected Operator(String name, boolean upserts) {
    this.name = name;
    this.upserts = upserts;
  }

  public final boolean follows() {
    return follows;
  }

  public final void follows(boolean does) {
    follows = does;
  }

  /** What each of its readers sees of its rows, NULL if that is all; NULL: all readers see everything. */
  private Image[] images;

  public final void readers(Image[] see) {
    images = see;
  }

  /** Whether its changes say which readers see them. */
  public final boolean tellsReadersApart() {
    return images != null;
  }

  protected Counts counts;

  public final void count(Counts counts) {
    this.counts = counts;
  }

  public final Counts counts() {
    return counts;
  }

  protected final void late(long rows) {
    counts.late += rows;
  }

  /** The changes that put one row of a key in another's place; NULL: there is none. */
  protected final List<Change> replaced(InternalRow before, InternalRow after) {
    long seen = seen(before, after);
    if (seen == 0) {
      return List.of();
    }
    List<Change> out = new ArrayList<>(2);
    if (before != null && (after == null || !upserts)) {
      out.add(new Change(before, -1, seen));
    }
    if (after != null) {
      out.add(new Change(after, 1, seen));
    }
    return out;
  }

  /** The changes that put some rows in the place of others, of whatever keys: first those that take back. */
  protected final List<Change> exchanged(List<InternalRow> gone, List<InternalRow> come) {
    List<Change> out = new ArrayList<>(gone.size() + come.size());
    List<Change> added = new ArrayList<>(come.size());
    for (int i = 0; i < Math.max(gone.size(), come.size()); i++) {
      InternalRow before = i < gone.size() ? gone.get(i) : null;
      InternalRow after = i < come.size() ? come.get(i) : null;
      long seen = seen(before, after);
      if (before != null && seen != 0) {
        out.add(new Change(before, -1, seen));
      }
      if (after != null && seen != 0) {
        added.add(new Change(after, 1, seen));
      }
    }
    out.addAll(added);
    return out;
  }

  /** A bit for each reader to whom the two rows are not the same. */
  private long seen(InternalRow before, InternalRow after) {
    if (images == null || before == null || after == null) {
      return Change.ALL;
    }
    long seen = 0;
    for (int i = 0; i < images.length; i++) {
      if (images[i] == null || !images[i].same(before, after)) {
        seen |= 1L << i;
      }
    }
    return seen;
  }

  /** The same, of the values of two rows; a result that is as before is not sent. */
  protected final List<Change> replacing(Object[] before, Object[] after) {
    return Arrays.deepEquals(before, after) ? List.of() : replaced(row(before), row(after));
  }

  protected static InternalRow row(Object[] values) {
    return values == null ? null : new GenericInternalRow(values);
  }

  public abstract StructType outputType();

  /** Declares the state; called once per task and epoch. */
  public abstract void open(StatefulProcessorHandle handle);

  /** The state variables that it declares, without its own name in front. */
  public final List<Declared.Variable> declared() {
    Declared handle = new Declared();
    open(handle);
    List<Declared.Variable> found = new ArrayList<>();
    for (Declared.Variable one : handle.variables()) {
      String own = one.name().startsWith(name + "_") ? one.name().substring(name.length() + 1) : one.name();
      found.add(new Declared.Variable(own, one.kind(), one.key(), one.value()));
    }
    return found;
  }

  /** The changes that one group of input changes causes. May be lazy: Spark sets the key again on each step. */
  public abstract Iterator<Change> process(InternalRow key, Changes changes, Moment moment);

  /** What a key's timer for this time causes. */
  public Iterator<Change> expired(InternalRow key, long at, Moment moment) {
    return Collections.emptyIterator();
  }

  /** Whether it gathers the rows of many keys: then it is called when the input ends. */
  public boolean gathers() {
    return false;
  }

  /**
   * What it still has to send when the input of a task ends, or pauses; the key is that of the task's last row,
   * {@code operator} its own tag.
   */
  public Iterator<Change> finish(InternalRow key, int operator, Moment moment) {
    return Collections.emptyIterator();
  }

  /** Called on an operator that gathers, before any row: rows will come one by one, and not all of a key at once. */
  public void comeOneByOne() {}

  /** How long what one has gathered may still wait, in nanoseconds, before it is to {@link #finish}. */
  public long patience() {
    return Long.MAX_VALUE;
  }

  /** Whether inputs of the same key may be merged before the shuffle. */
  public boolean combines() {
    return false;
  }

  /** Merges the inputs of one key before the shuffle. */
  public Partial partial() {
    throw new UnsupportedOperationException(name + " does not combine");
  }
}
