package millstream.join;

import java.io.Serializable;
import millstream.operator.OperatorSpec;
import millstream.row.Condition;
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
  static Residual of(OperatorSpec spec, String sql) {
    StructType sides = new StructType().add("l", spec.input(0), true).add("r", spec.input(1), true);
    return sql == null ? null : new Residual(Condition.of(spec.spark(), sql, sides));
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
