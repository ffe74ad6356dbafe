package millstream.sink;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.List;
import millstream.journal.Locks;
import millstream.metrics.Meters;
import org.apache.spark.sql.connector.write.BatchWrite;
import org.apache.spark.sql.connector.write.DataWriterFactory;
import org.apache.spark.sql.connector.write.PhysicalWriteInfo;
import org.apache.spark.sql.connector.write.WriterCommitMessage;
import org.apache.spark.sql.types.StructType;

/** A batch is a single epoch, published when it is committed. It holds the sinks' locks while it runs. */
final class SinksBatch implements BatchWrite {
  private static final long EPOCH = 0;
  private static final long TENURE = 0;

  private final List<SinkSpec> specs;
  private final StructType schema;
  private final Meters meters;
  private final Locks locks = new Locks();
  private boolean publishing;

  SinksBatch(String sinks, StructType schema, Meters meters) {
    this.schema = schema;
    this.meters = meters;
    specs = SinkSpec.parse(sinks);
  }

  private interface Step {
    void on(Committer committer, SinkSpec spec) throws IOException;
  }

  private void each(Step step) {
    try {
      for (SinkSpec spec : specs) {
        try (Committer committer = SinkKind.of(spec).committer(spec)) {
          step.on(committer, spec);
        }
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @Override
  public DataWriterFactory createBatchWriterFactory(PhysicalWriteInfo info) {
    try {
      each((committer, spec) -> committer.claim(locks));
      each((committer, spec) -> committer.requireUnused());
      each((committer, spec) -> committer.recover(EPOCH - 1, TENURE, Committer.Fence.NONE));
    } catch (RuntimeException e) {
      release();
      throw e;
    }
    SinksWriter.Factory factory = SinksWriter.factory(specs, schema, false, EPOCH - 1, TENURE, meters);
    return (task, attempt) -> factory.createWriter(task, attempt, EPOCH);
  }

  @Override
  public boolean useCommitCoordinator() {
    return false;
  }

  @Override
  public void commit(WriterCommitMessage[] messages) {
    ObjectNode prepared = SinksWrite.prepared(specs, EPOCH, messages);
    publishing = true;
    each((committer, spec) -> {
      if (prepared.has(spec.writer())) {
        committer.publish(EPOCH, prepared.get(spec.writer()), Committer.Fence.NONE);
      }
    });
    release();
  }

  /** Files that are listed may be published in part already: then the rest is kept for inspection. */
  @Override
  public void abort(WriterCommitMessage[] messages) {
    if (!publishing) {
      SinksWrite.discard(specs, EPOCH, TENURE);
    }
    release();
  }

  private void release() {
    try {
      locks.close();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
