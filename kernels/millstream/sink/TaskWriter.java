package millstream.sink;

import java.io.IOException;
import java.io.Serializable;
import org.apache.spark.sql.catalyst.InternalRow;

/** Writes one task's rows of one epoch, invisibly to readers of committed rows. */
public interface TaskWriter {
  /** What the driver needs to know to publish what a task prepared. */
  interface Prepared extends Serializable {}

  /** Key and value may be null; a record without a value deletes its key. */
  void write(byte[] key, byte[] value) throws IOException;

  /** The same for a sink that gets whole rows, with their types, beside key and value. */
  default void write(byte[] key, byte[] value, InternalRow row) throws IOException {
    write(key, value);
  }

  /** Makes the rows durable. Nothing is written afterwards. */
  Prepared prepare() throws IOException;

  /** Throws the rows away, as far as possible; what is left is found on restart. */
  void abort() throws IOException;
}
