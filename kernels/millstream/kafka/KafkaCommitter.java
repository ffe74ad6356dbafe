package millstream.kafka;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import millstream.faults.Faults;
import millstream.sink.Committer;
import millstream.sink.SinkSpec;
import millstream.sink.TaskWriter;

/** Prepares by open transactions, publishes by committing them. */
final class KafkaCommitter implements Committer {
  private final SinkSpec spec;
  private final Repairs repairs;
  private Transactions transactions;

  KafkaCommitter(SinkSpec spec) {
    this.spec = spec;
    this.repairs = new Repairs(spec);
  }

  /** Connects when it is needed: most committers only prepare. */
  private Transactions transactions() {
    if (transactions == null) {
      transactions = new Transactions(spec);
    }
    return transactions;
  }

  @Override
  public JsonNode prepared(long epoch, List<TaskWriter.Prepared> tasks) {
    return PreparedTransaction.json(
        tasks.stream().map(task -> (PreparedTransaction) task).toList());
  }

  @Override
  public void publish(long epoch, JsonNode prepared, Fence fence) throws IOException {
    List<PreparedTransaction> open = PreparedTransaction.parse(prepared);
    Faults.at("sink.publish.before", epoch, spec.name());
    // One alone, to see that they can be ended; then the others, all at once.
    List<PreparedTransaction> lost = new ArrayList<>(transactions().commit(open.subList(0, Math.min(1, open.size()))));
    if (open.size() > 1) {
      Faults.at("sink.publish.between", epoch, spec.name());
      lost.addAll(transactions().commit(open.subList(1, open.size())));
    }
    if (!lost.isEmpty()) {
      fence.check();
      List<PreparedTransaction> instead = repairs.read(epoch);
      repair(instead == null ? lost : transactions().commit(instead), epoch);
      // Another attempt of the task may have taken the id: what it wrote is open still, and its client would commit
      // it.
      transactions().abortOpen();
    }
    Faults.at("sink.publish.after", epoch, spec.name());
  }

  /** The others are committed: what is written again takes the place of those that are lost. */
  private void repair(List<PreparedTransaction> lost, long epoch) throws IOException {
    try (Repair repair = new Repair(spec, epoch)) {
      List<PreparedTransaction> unseen = repair.unseen(lost);
      if (!unseen.isEmpty()) {
        List<PreparedTransaction> again = List.of(repair.copy(unseen));
        Faults.at("sink.repair.before", epoch, spec.name());
        repairs.write(epoch, again);
        Faults.at("sink.repair.after", epoch, spec.name());
        if (!transactions().commit(again).isEmpty()) {
          throw new IOException("transaction " + again.get(0).id() + " ended before it could be committed");
        }
      }
    }
  }

  @Override
  public void recover(long lastCommitted, long tenure, Fence fence) throws IOException {
    fence.check();
    repairs.delete();
    transactions().abortOpen();
  }

  /** What tasks had open when they were stopped would hold up readers of committed rows. */
  @Override
  public void discard(long from, long tenure) throws IOException {
    transactions().abortOpen();
  }

  /** What a producer has open stays so: it is committed by its id when the job starts again, or aborted. */
  @Override
  public void release() {
    Producers.close(KafkaSink.prefix(spec));
  }

  @Override
  public void close() {
    if (transactions != null) {
      transactions.close();
    }
  }
}
