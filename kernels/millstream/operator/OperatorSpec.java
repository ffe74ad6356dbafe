package millstream.operator;

import millstream.row.Condition;
import millstream.row.Layout;
import millstream.state.GroupState;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/** What all operators of a stage know about themselves: their name, and where their key and their inputs are. */
public record OperatorSpec(Told told, Layout layout, SparkSession spark) {
  public String name() {
    return told.name();
  }

  /** The payload column of its first input; the others follow. */
  public int port() {
    return told.port();
  }

  /** The type of an input's rows. */
  public StructType input(int side) {
    return layout.payloadType(port() + side);
  }

  /** Whether all that reads it upserts by its key. */
  public boolean upserts() {
    return told.upserts();
  }

  /** A condition on rows of a type; NULL: none. */
  public Condition condition(String sql, StructType type) {
    return sql == null ? null : Condition.of(spark, sql, type);
  }

  /** What is kept for its groups; {@code ends}: NULL if they do not end. */
  public GroupState group(GroupEnds ends) {
    return ends == null ? new GroupState(-1, 0) : new GroupState(keySlots()[ends.key()], ends.afterMs());
  }

  /** Where its key columns are in the stage's key. */
  public int[] keySlots() {
    return told.keys().stream().mapToInt(Integer::intValue).toArray();
  }

  public StructField[] keys() {
    int[] slots = keySlots();
    StructField[] found = new StructField[slots.length];
    for (int i = 0; i < found.length; i++) {
      found[i] = layout.schema.fields()[slots[i]];
    }
    return found;
  }
}
