package millstream.stage;

import java.io.Serializable;
import java.util.Iterator;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.streaming.StatefulProcessorHandle;
import org.apache.spark.sql.types.StructType;

/** One stateful operator of a stage: changes of one key in, changes out. */
abstract class Operator implements Serializable {
  private static final long serialVersionUID = 1L;

  /** The stable name: state variables carry it, so that state is found again by name. */
  final String name;

  Operator(String name) {
    this.name = name;
  }

  abstract StructType outputType();

  /** Declares the state; called once per task and epoch. */
  abstract void open(StatefulProcessorHandle handle);

  /** The changes that one group of input changes causes. May be lazy: Spark sets the key again on each step. */
  abstract Iterator<Change> process(InternalRow key, Changes changes);

  /** Whether inputs of the same key may be merged before the shuffle. */
  boolean combines() {
    return false;
  }

  IllegalStateException absent(String what) {
    return new IllegalStateException(
        "MS-STATE-001: step \"" + name + "\" was asked to take back " + what + " that is not there."
            + " The sender retracted a row that it never sent, or sent it under another key.");
  }
}
