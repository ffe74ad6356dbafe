package millstream.stage;

import org.apache.spark.sql.catalyst.InternalRow;

/** A row in a bag: how often it is there, and, where that is counted, how many rows of the other side it has met. */
final class Held {
  final InternalRow row;
  long weight;
  long partners;

  Held(InternalRow row, long weight, long partners) {
    this.row = row;
    this.weight = weight;
    this.partners = partners;
  }
}
