package millstream.barrier;

import java.io.IOException;
import org.apache.spark.sql.connector.write.WriterCommitMessage;

/** A task's writer that ends an epoch at a barrier, and begins the next one at once. */
public interface SealsEpochs {
  /** What is left to do to make the rows up to the barrier durable; it is done in the background. */
  Sealed seal(Barrier barrier);

  /** An epoch's rows of one task, to which nothing is added any more. */
  interface Sealed {
    /** How many there are. */
    long rows();

    WriterCommitMessage prepare() throws IOException;
  }
}
