package millstream.sink;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.List;
import millstream.barrier.PublishesInTime;
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
  /** Whether one batch goes on and on, and has many epochs. */
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
    return SinksWriter.factory(SinkSpec.parse(sinks), schema, each, publishedBeforeNext(), meters);
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
    requireOwn();
    prepared(SinkSpec.parse(sinks), epoch, messages);
    meters.prepared(epoch);
  }

  private void requireOwn() {
    try {
      Publisher.requireOwn(sinks);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  static void prepared(List<SinkSpec> specs, long epoch, WriterCommitMessage[] messages) {
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
          try (Committer committer = SinkKind.of(specs.get(sink)).committer(specs.get(sink))) {
            committer.prepared(epoch, tasks);
          }
        }
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @Override
  public void abort(long epoch, WriterCommitMessage[] messages) {
    requireOwn();
    if (!barriers) {
      discard(SinkSpec.parse(sinks), epoch);
      return;
    }
    // What is committed is published first. Behind it there may be an epoch that was sealed, and one that was begun.
    long last = Publisher.publishNow(sinks);
    discard(SinkSpec.parse(sinks), last + 1);
    discard(SinkSpec.parse(sinks), last + 2);
  }

  static void discard(List<SinkSpec> specs, long epoch) {
    try {
      for (SinkSpec spec : specs) {
        try (Committer committer = SinkKind.of(spec).committer(spec)) {
          committer.discard(epoch);
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
