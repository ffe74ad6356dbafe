package millstream.sink;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import millstream.commit.Decisions;
import millstream.commit.Unanswered;
import millstream.journal.Locks;
import millstream.journal.PartitionLog;
import millstream.journal.Topic;
import org.apache.spark.sql.connector.write.WriterCommitMessage;
import org.apache.spark.sql.types.StructType;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A query ends while one of its epochs is being committed. */
final class AbortTest {
  @TempDir
  Path folder;

  private String sinks;
  private String checkpoint;
  private List<SinkSpec> specs;
  private Tenure tenure;
  private Publisher publisher;
  private SinksWrite write;

  @BeforeEach
  void begin() throws IOException {
    Files.createDirectories(folder.resolve("journal/t/0"));
    sinks =
        """
        [{"name": "out", "writer": "job.out", "mode": "append", "kind": "journal", "topic": "t", "partitions": "1",
          "path": "%s/journal"}]"""
            .formatted(folder);
    specs = SinkSpec.parse(sinks);
    checkpoint =
        """
        {"spark": "%1$s/spark", "lock": "%1$s/lock", "decisions": "%1$s/decisions", "query": "%1$s/spark/metadata",
         "offsets": "%1$s/spark/offsets", "commits": "%1$s/spark/commits"}"""
            .formatted(folder);
    tenure = Recovery.run(sinks, checkpoint);
    publisher = new Publisher(tenure);
    write = new SinksWrite(sinks, new StructType(), false, true, null);
  }

  /** A task's one row of an epoch. */
  private WriterCommitMessage[] written(long epoch) throws IOException {
    SinkSpec spec = specs.get(0);
    SinkKind.TaskId task = new SinkKind.TaskId(epoch, 0, tenure.decisions().tenure(), 0, false, -1, true);
    TaskWriter writer = SinkKind.of(spec).writer(spec, task);
    writer.write(null, Long.toString(epoch).getBytes());
    return new WriterCommitMessage[] {new SinksWriter.Message(new TaskWriter.Prepared[] {writer.prepare()})};
  }

  private long published() throws IOException {
    PartitionLog log = Topic.of(folder + "/journal", "t", 1).log(0);
    return log.end();
  }

  private long open() throws IOException {
    try (var listed = Files.list(folder.resolve("journal/t/0/open"))) {
      return listed.count();
    }
  }

  private void commit(long epoch) throws IOException {
    Decisions decisions = tenure.decisions();
    decisions.commit(epoch, "v1\n{}", JsonNodeFactory.instance.objectNode());
  }

  private void prepare(long epoch) throws IOException {
    tenure.decisions().prepared(epoch, SinksWrite.prepared(specs, epoch, written(epoch)));
  }

  @Test
  void theEpochCountsIfItIsDecidedAfterTheFailure() throws IOException {
    prepare(0);
    write.abort(0, new WriterCommitMessage[0]);
    commit(0);
    publisher.close();
    tenure.close();
    assertEquals(1, published());
  }

  @Test
  void theEpochCountsIfSparkHasNotLoggedItYet() throws IOException {
    prepare(0);
    commit(0);
    write.abort(0, new WriterCommitMessage[0]);
    publisher.close();
    tenure.close();
    assertEquals(1, published());
  }

  @Test
  void whatWasNotDecidedIsThrownAwayWhenTheRunIsOver() throws IOException {
    prepare(0);
    commit(0);
    prepare(1);
    written(2);
    write.abort(0, new WriterCommitMessage[0]);
    publisher.close();
    tenure.close();
    assertEquals(1, published());
    assertEquals(0, open());
  }

  /** The query is stopped just then. */
  @Test
  void anInterruptedCommitComesToItsEnd() throws IOException {
    prepare(0);
    Thread.currentThread().interrupt();
    commit(0);
    assertTrue(Thread.interrupted());
    publisher.close();
    tenure.close();
    assertEquals(1, published());
  }

  @Test
  void nothingIsThrownAwayWhileItIsInDoubtWhetherAnEpochCounts() throws IOException {
    publisher.close();
    tenure.close();
    Decisions unanswered = Unanswered.takeOver(folder + "/decisions");
    tenure = new Tenure(sinks, CheckpointPaths.parse(checkpoint), unanswered, new Locks());
    publisher = new Publisher(tenure);
    prepare(0);
    assertThrows(IOException.class, () -> commit(0));
    publisher.close();
    tenure.close();
    assertEquals(1, open());
    Recovery.run(sinks, checkpoint).close();
    assertEquals(1, published());
    assertEquals(0, open());
  }
}
