package millstream.aggregate;

import org.apache.spark.sql.catalyst.InternalRow;

/** A figure that is saved in the payload's form: what was saved is merged in as a row is. */
abstract class Merging extends Accumulator {
  private static final long serialVersionUID = 1L;

  Merging(int input) {
    super(input);
  }

  /** Begins with nothing. */
  abstract void clear();

  /** Merges in the fields that begin there. */
  abstract void merge(InternalRow row, int at);

  @Override
  final void load(InternalRow state) {
    clear();
    if (state != null) {
      merge(state, saved);
    }
  }

  @Override
  final void add(InternalRow payload, long weight) {
    merge(payload, input);
  }
}
