package millstream.stage;

import java.util.Iterator;
import millstream.operator.Moment;
import millstream.operator.Operator;
import millstream.operator.OperatorSpec;
import millstream.row.Change;
import millstream.row.Changes;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.streaming.StatefulProcessorHandle;
import org.apache.spark.sql.types.StructType;

/** Lets rows ride through a level untouched. */
final class PassThrough extends Operator {
  private static final long serialVersionUID = 1L;

  private final StructType type;

  /** It has no settings. */
  record Told() {}

  PassThrough(OperatorSpec spec, Told told) {
    super(spec.name(), false);
    this.type = spec.input(0);
  }

  @Override
  public StructType outputType() {
    return type;
  }

  @Override
  public void open(StatefulProcessorHandle handle) {
    // Nothing is kept.
  }

  @Override
  public Iterator<Change> process(InternalRow key, Changes changes, Moment moment) {
    return changes.each(() -> new Change(changes.payload(), changes.weight()));
  }
}
