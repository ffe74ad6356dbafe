package millstream.aggregate;

import org.apache.spark.sql.catalyst.InternalRow;

/** Figures in the form of a payload, so that two can be added; they are opened when they change. */
public final class KeptFigures {
  private final Accumulator[] kinds;
  private final int width;
  private final InternalRow kept;
  private Accumulator[] open;

  /** {@code kept}: NULL for none yet; {@code width}: how many fields the payload's figures have. */
  public KeptFigures(Accumulator[] kinds, int width, InternalRow kept) {
    this.kinds = kinds;
    this.width = width;
    this.kept = kept;
  }

  public int count() {
    return kinds.length;
  }

  public boolean isNew() {
    return kept == null;
  }

  public boolean isOpen() {
    return open != null;
  }

  public void open() {
    if (open == null) {
      open = new Accumulator[kinds.length];
      for (int i = 0; i < open.length; i++) {
        open[i] = kinds[i].fresh();
        open[i].load(kept);
      }
    }
  }

  public void add(InternalRow payload) {
    open();
    Aggregate.add(open, payload, 1);
  }

  /** The results go into an array, from a place on. */
  public void results(Object[] values, int from) {
    open();
    for (int i = 0; i < open.length; i++) {
      values[from + i] = open[i].result();
    }
  }

  /** As they were before anything was added; NULL for none. */
  public InternalRow before() {
    return kept;
  }

  public InternalRow saved() {
    return open == null ? kept : Aggregate.saved(open, width);
  }
}
