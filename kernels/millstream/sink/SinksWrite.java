package millstream.sink;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.List;
import millstream.barrier.PublishesInTime;
import millstream.commit.Decisions;
import millstream.faults.Faults;
import millstream.metrics.Meters;
import org.apache.spark.sql.connector.write.PhysicalWriteInfo;
import org.apache.spark.sql.connector.write.WriterCommitMessage;
import org.apache.spark.sql.connector.write.streaming.StreamingDataWriterFactory;
import org.apache.spark.sql.connector.write.streaming.StreamingWrite;
import org.apache.spark.sql.types.StructType;

/**
 * The driver's side of an epoch, for all sinks. What Spark calls commit is only the first phase: Spark has yet to
 * commit the epoch itself. {@link Publisher} does the second.
 */
final class SinksWrite implements StreamingWrite, PublishesInTime {
  private final String sinks;
  private final StructType schema;
  private final boolean each;
  /** Whether one batch never ends, and has many epochs. */
  private final boolean barriers;

  private final Meters meters;

  SinksWrite(String sinks, StructType schema, boolean each, boolean barriers, Meters meters) {
    this.sinks = sinks;
    this.schema = schema;
    this.each = each;
    this.barriers = barriers;
    this.meters = meters;
  }

  @Override
  public StreamingDataWriterFactory createStreamingWriterFactory(PhysicalWriteInfo info) {
    Publisher.checkHealthy(sinks);
    Decisions decisions = Tenure.of(sinks).decisions();
    decisions.requireAsked();
    List<SinkSpec> specs = SinkSpec.parse(sinks);
    return SinksWriter.factory(specs, schema, each, publishedBeforeNext(), decisions.tenure(), meters);
  }

  @Override
  public long publishedBeforeNext() {
    boolean wait =
        SinkSpec.parse(sinks).stream().anyMatch(spec -> SinkKind.of(spec).publishesBeforeNext());
    return wait ? Publisher.publishNow(sinks) : -1;
  }

  /** The driver takes one message per task, whichever attempt sent it: no need to ask who may commit. */
  @Override
  public boolean useCommitCoordinator() {
    return false;
  }

  @Override
  public void commit(long epoch, WriterCommitMessage[] messages) {
    Publisher.checkHealthy(sinks);
    Tenure.of(sinks).decisions().prepared(epoch, prepared(SinkSpec.parse(sinks), epoch, messages));
    meters.prepared(epoch);
  }

  /** By writer, what must be known to publish what its sink has prepared. */
  static ObjectNode prepared(List<SinkSpec> specs, long epoch, WriterCommitMessage[] messages) {
    ObjectNode all = JsonNodeFactory.instance.objectNode();
    try {
      for (int sink = 0; sink < specs.size(); sink++) {
        List<TaskWriter.Prepared> tasks = new ArrayList<>();
        for (WriterCommitMessage message : messages) {
          TaskWriter.Prepared prepared = message == null ? null : ((SinksWriter.Message) message).sinks()[sink];
          if (prepared != null) {
            tasks.add(prepared);
          }
        }
        if (!tasks.isEmpty()) {
          SinkSpec spec = specs.get(sink);
          Faults.at("sink.prepare.before", epoch, spec.name());
          try (Committer committer = SinkKind.of(spec).committer(spec)) {
            all.set(spec.writer(), committer.prepared(epoch, tasks));
          }
          Faults.at("sink.prepare.after", epoch, spec.name());
        }
      }
      return all;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /**
   * With barriers, another thread may be about to commit an epoch: only when it has ended is it known what counts, and
   * {@link Publisher#close} throws away the rest.
   */
  @Override
  public void abort(long epoch, WriterCommitMessage[] messages) {
    if (barriers) {
      return;
    }
    Decisions decisions = Tenure.of(sinks).decisions();
    try {
      decisions.requireOwn();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    discard(SinkSpec.parse(sinks), epoch, decisions.tenure());
  }

  static void discard(List<SinkSpec> specs, long epoch, long tenure) {
    try {
      for (SinkSpec spec : specs) {
        try (Committer committer = SinkKind.of(spec).committer(spec)) {
          committer.discard(epoch, tenure);
        }
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @Override
  public String toString() {
    return "millstream-sinks";
  }
}
