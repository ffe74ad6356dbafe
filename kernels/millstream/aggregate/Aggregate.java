package millstream.aggregate;

import java.util.Arrays;
import java.util.Collections;
import java.util.Iterator;
import java.util.List;
import millstream.operator.GroupEnds;
import millstream.operator.Moment;
import millstream.operator.OperatorSpec;
import millstream.operator.Partial;
import millstream.row.Change;
import millstream.row.Changes;
import millstream.state.Absent;
import millstream.state.GroupState;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.streaming.StatefulProcessorHandle;

/** Groups rows by key and keeps figures of each group; a changed result takes back the one before. */
public final class Aggregate extends GroupOperator {
  private static final long serialVersionUID = 1L;

  private final GroupState group;
  /**
   * Whether the rows belong to windows: one that comes after its window's end is late. Results of windows never are.
   */
  private final boolean dropsLate;
  /** Whether only the last result is sent, when the group ends. */
  private final boolean last;

  /** How many fields the payload has. */
  private final int width;

  private final boolean combines;

  /**
   * Its settings.
   *
   * @param ends when groups end; NULL: they do not
   * @param dropsLate whether rows that come after the end are late
   * @param finalOnly whether only the last result is sent, when the group ends
   * @param counted whether a result needs the number of rows
   * @param always whether there is a result even of no rows
   */
  public record Told(
      List<Accumulators.Told> accumulators,
      GroupEnds ends,
      boolean dropsLate,
      boolean finalOnly,
      boolean counted,
      boolean always) {}

  public Aggregate(OperatorSpec spec, Told told) {
    super(spec, told.accumulators, told.counted, told.always);
    this.group = spec.group(told.ends);
    this.dropsLate = told.dropsLate;
    this.last = told.finalOnly;
    this.width = spec.input(0).length();
    this.combines = Arrays.stream(figures.accumulators()).allMatch(Accumulator::combines);
  }

  @Override
  public void open(StatefulProcessorHandle handle) {
    group.open(handle, name + "_group", figures.stateType());
    figures.open(handle, name);
  }

  @Override
  public boolean combines() {
    return combines;
  }

  @Override
  public Iterator<Change> process(InternalRow key, Changes changes, Moment moment) {
    if (dropsLate && group.over(key, moment.watermark())) {
      return late(changes);
    }
    InternalRow saved = group.load(key, moment.ended());
    figures.load(saved);
    Object[] before = saved == null || last ? null : figures.result(key);
    while (changes.next()) {
      InternalRow payload = changes.payload();
      if (payload != null) {
        figures.add(payload, changes.weight());
      }
    }
    if (figures.rows() < 0) {
      throw new Absent(name, "a row");
    }
    Object[] after = last && !group.ends() ? null : figures.result(key);
    if (group.ends()) {
      drop();
    } else {
      group.save(figures.gone() ? null : figures.saved());
    }
    return replacing(before, after).iterator();
  }

  private Iterator<Change> late(Changes changes) {
    while (changes.next()) {
      late(changes.payload().getLong(figures.counted()));
    }
    return Collections.emptyIterator();
  }

  /** The group's time is over: a last result, if it was held back, and no more state. */
  @Override
  public Iterator<Change> expired(InternalRow key, long at, Moment moment) {
    InternalRow saved = group.load();
    if (saved == null) {
      return Collections.emptyIterator();
    }
    figures.load(saved);
    Object[] result = last ? figures.result(key) : null;
    drop();
    return result == null
        ? Collections.emptyIterator()
        : List.of(new Change(row(result), 1)).iterator();
  }

  private void drop() {
    figures.drop();
    group.save(null);
  }

  static void add(Accumulator[] figures, InternalRow payload, long weight) {
    for (Accumulator figure : figures) {
      figure.add(payload, weight);
    }
  }

  @Override
  public Partial partial() {
    Accumulator[] kinds = figures.accumulators();
    Accumulator[] fresh = new Accumulator[kinds.length];
    for (int i = 0; i < fresh.length; i++) {
      fresh[i] = kinds[i].fresh();
    }
    return new Figures(fresh, width);
  }

  /** Figures of their own. */
  private record Figures(Accumulator[] figures, int width) implements Partial {
    @Override
    public void add(InternalRow payload, long weight) {
      Aggregate.add(figures, payload, weight);
    }

    @Override
    public int size() {
      return 1;
    }

    @Override
    public List<Change> rows() {
      return List.of(new Change(saved(figures, width), 1));
    }
  }

  static InternalRow saved(Accumulator[] figures, int width) {
    Object[] values = new Object[width];
    for (Accumulator figure : figures) {
      figure.save(values);
    }
    return new GenericInternalRow(values);
  }
}
