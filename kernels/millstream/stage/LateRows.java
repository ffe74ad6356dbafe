package millstream.stage;

import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.streaming.StatefulProcessorHandle;
import org.apache.spark.sql.types.StructType;

/** Gives the rows whose window is closed, and those that have no time and so no window: those that the windows' own operator, beside it, does not count in. */
final class LateRows extends Operator {
  private static final long serialVersionUID = 1L;

  private final StructType type;
  private final int end;
  private final long allowed;

  LateRows(OperatorSpec spec) {
    super(spec.name(), false);
    this.type = spec.input(0);
    this.end = spec.json().get("end").asInt();
    this.allowed = spec.json().get("allowed_ms").asLong();
  }

  static LateRows of(OperatorSpec spec) {
    return new LateRows(spec);
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
    List<Change> out = new ArrayList<>();
    while (changes.next()) {
      InternalRow row = changes.payload();
      if (row.isNullAt(end) || watermark >= Math.floorDiv(row.getLong(end), 1000L) + allowed) {
        out.add(new Change(row.copy(), changes.weight()));
      }
    }
    return out.iterator();
  }
}
