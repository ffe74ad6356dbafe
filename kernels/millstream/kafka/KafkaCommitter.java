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
      transactions().commit(open.subList(0, Math.min(1, open.size())), epoch);
      if (open.size() > 1) {
        Faults.at("sink.publish.between", epoch);
        transactions().commit(open.subList(1, open.size()), epoch);
      }
      lists.delete(epoch);
      Faults.at("sink.publish.after", epoch);
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
    Producers.close(KafkaSink.prefix(spec));
    transactions().abortOpen();
  }

  @Override
  public void close() {
    if (transactions != null) {
      transactions.close();
    }
  }
}
