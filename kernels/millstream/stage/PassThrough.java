package millstream.stage;

import java.util.Iterator;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.streaming.StatefulProcessorHandle;
import org.apache.spark.sql.types.StructType;

/** Lets rows ride through a level untouched. */
final class PassThrough extends Operator {
  private static final long serialVersionUID = 1L;

  private final StructType type;

  PassThrough(String name, StructType type) {
    super(name, false);
    this.type = type;
  }

  static PassThrough of(OperatorSpec spec) {
    return new PassThrough(spec.name(), spec.input(0));
  }

  @Override
  StructType outputType() {
    return type;
  }

  @Override
  void open(StatefulProcessorHandle handle) {
    // Nothing is kept.
  }

  @Override
  Iterator<Change> process(InternalRow key, Changes changes) {
    return changes.each(() -> new Change(changes.payload(), changes.weight()));
  }
}
