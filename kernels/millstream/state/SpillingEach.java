package millstream.state;

import java.util.Iterator;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.streaming.MapState;
import scala.Tuple2;

/** Entries that can be found: many are in map state each under its own key, and then none is in value state. */
abstract class SpillingEach<E> extends Spilling<E> {
  private final int most;

  /** {@code most}: how many stay in value state. */
  SpillingEach(MapState<InternalRow, InternalRow> spill, int fields, int most) {
    super(spill, fields);
    this.most = most;
  }

  /** An entry's key in map state. */
  abstract InternalRow key(E entry);

  /** An entry's value in map state. */
  abstract InternalRow value(E entry);

  /** An entry of map state, as its own copy. */
  abstract E entry(InternalRow key, InternalRow value);

  /** Called with each two entries that follow one another in map state. */
  void check(E one, E next) {}

  final void spillIfMany() {
    if (few().size() <= most) {
      return;
    }
    for (E entry : few()) {
      spill.updateValue(key(entry), value(entry));
    }
    spilled = few().size();
    forgetFew();
  }

  @Override
  public final Iterator<E> iterator() {
    return spilled > 0 ? new Spilled(spill.iterator()) : new Few(few().iterator());
  }

  private final class Few implements Iterator<E> {
    private final Iterator<E> entries;

    Few(Iterator<E> entries) {
      this.entries = entries;
    }

    @Override
    public boolean hasNext() {
      return entries.hasNext();
    }

    @Override
    public E next() {
      return entries.next();
    }

    @Override
    public void remove() {
      entries.remove();
      dirty = true;
    }
  }

  private final class Spilled implements Iterator<E> {
    private final scala.collection.Iterator<Tuple2<InternalRow, InternalRow>> entries;
    private E last;

    Spilled(scala.collection.Iterator<Tuple2<InternalRow, InternalRow>> entries) {
      this.entries = entries;
    }

    @Override
    public boolean hasNext() {
      return entries.hasNext();
    }

    @Override
    public E next() {
      Tuple2<InternalRow, InternalRow> pair = entries.next();
      E next = entry(pair._1(), pair._2());
      if (last != null) {
        check(last, next);
      }
      last = next;
      return next;
    }

    @Override
    public void remove() {
      spill.removeKey(key(last));
      spilled--;
      dirty = true;
    }
  }
}
