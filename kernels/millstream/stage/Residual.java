package millstream.stage;

import java.io.Serializable;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.types.StructType;

/** What two rows of a key must meet to be partners, beyond their key. */
final class Residual implements Serializable {
  private static final long serialVersionUID = 1L;

  private final Condition condition;
  private transient GenericInternalRow pair;

  private Residual(Condition condition) {
    this.condition = condition;
  }

  /** SQL over {@code l.…} and {@code r.…}, NULL counts as false; NULL: the join has none. */
  static Residual of(OperatorSpec spec) {
    if (!spec.json().hasNonNull("residual")) {
      return null;
    }
    StructType sides = new StructType().add("l", spec.input(0), true).add("r", spec.input(1), true);
    return new Residual(Condition.of(spec.spark(), spec.json().get("residual").asText(), sides));
  }

  boolean met(InternalRow left, InternalRow right) {
    if (pair == null) {
      pair = new GenericInternalRow(2);
    }
    pair.update(0, left);
    pair.update(1, right);
    return condition.meets(pair);
  }
}
