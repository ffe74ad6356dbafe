package millstream.stage;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.Serializable;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.streaming.StatefulProcessorHandle;

/** When groups of rows are closed, so that their state can go: which key says it, and how long after it. */
record GroupEnd(int slot, long after) implements Serializable {
  /** NULL: never. */
  static GroupEnd of(OperatorSpec spec) {
    JsonNode closing = spec.json().get("closing");
    return closing == null
        ? null
        : new GroupEnd(spec.keySlots()[closing.get("key").asInt()], closing.get("after_ms").asLong());
  }

  void setTimer(InternalRow key, StatefulProcessorHandle handle) {
    if (!key.isNullAt(slot)) {
      handle.registerTimer(time(key));
    }
  }

  boolean by(long watermark, InternalRow key) {
    return !key.isNullAt(slot) && time(key) <= watermark;
  }

  private long time(InternalRow key) {
    return Math.floorDiv(key.getLong(slot), 1000L) + after;
  }
}
