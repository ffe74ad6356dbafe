package millstream.kafka;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import millstream.faults.Faults;
import millstream.sink.Committer;
import millstream.sink.SinkSpec;
import millstream.sink.TaskWriter;

/** Prepares by a list of open transactions, publishes by committing them. */
final class KafkaCommitter implements Committer {
  private final SinkSpec spec;
  private final PreparedLists lists;
  private Transactions transactions;

  KafkaCommitter(SinkSpec spec) {
    this.spec = spec;
    this.lists = new PreparedLists(spec);
  }

  /** Connects when it is needed: most committers only prepare. */
  private Transactions transactions() {
    if (transactions == null) {
      transactions = new Transactions(spec);
    }
    return transactions;
  }

  @Override
  public void prepared(long epoch, List<TaskWriter.Prepared> tasks) throws IOException {
    List<PreparedTransaction> open = new ArrayList<>();
    for (TaskWriter.Prepared task : tasks) {
      open.add((PreparedTransaction) task);
    }
    Faults.at("sink.prepare.before", epoch);
    lists.write(epoch, open);
    Faults.at("sink.prepare.after", epoch);
  }

  @Override
  public void publish(long upTo) throws IOException {
    for (long epoch : lists.epochs().headSet(upTo, true)) {
      List<PreparedTransaction> open = lists.read(epoch);
      Faults.at("sink.publish.before", epoch);
      // One alone, to see that they can be ended; then the others, all at once.
      List<PreparedTransaction> lost =
          new ArrayList<>(transactions().commit(open.subList(0, Math.min(1, open.size()))));
      if (open.size() > 1) {
        Faults.at("sink.publish.between", epoch);
        lost.addAll(transactions().commit(open.subList(1, open.size())));
      }
      if (!lost.isEmpty()) {
        repair(lost, epoch);
        // Another attempt of the task may have taken the id: what it wrote is open still, and its client would commit
        // it.
        transactions().abortOpen();
      }
      lists.delete(epoch);
      Faults.at("sink.publish.after", epoch);
    }
  }

  /**
   * The others are committed: what is written again takes the place of the list, and then is committed as they were.
   */
  private void repair(List<PreparedTransaction> lost, long epoch) throws IOException {
    try (Repair repair = new Repair(spec, epoch)) {
      List<PreparedTransaction> unseen = repair.unseen(lost);
      if (!unseen.isEmpty()) {
        List<PreparedTransaction> again = List.of(repair.copy(unseen));
        Faults.at("sink.repair.before", epoch);
        lists.write(epoch, again);
        Faults.at("sink.repair.after", epoch);
        if (!transactions().commit(again).isEmpty()) {
          throw new IOException("transaction " + again.get(0).id() + " ended before it could be committed");
        }
      }
    }
  }

  @Override
  public void recover(long lastCommitted) throws IOException {
    publish(lastCommitted);
    for (long epoch : lists.epochs()) {
      lists.delete(epoch);
    }
    transactions().abortOpen();
  }

  @Override
  public void discard(long epoch) throws IOException {
    lists.delete(epoch);
    transactions().abortOpen();
  }

  /** What tasks had open when they were stopped would hold up readers of committed rows. */
  @Override
  public void finish() throws IOException {
    release();
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
