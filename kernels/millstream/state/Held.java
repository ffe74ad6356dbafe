package millstream.state;

import org.apache.spark.sql.catalyst.InternalRow;

/** A row in a bag: how often it is there, and, where that is counted, how many rows of the other side it has met. */
public final class Held {
  public final InternalRow row;
  public long weight;
  public long partners;

  public Held(InternalRow row, long weight, long partners) {
    this.row = row;
    this.weight = weight;
    this.partners = partners;
  }
}
