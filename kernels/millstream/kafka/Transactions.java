package millstream.kafka;

import java.io.IOException;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import millstream.sink.SinkSpec;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.TransactionDescription;
import org.apache.kafka.clients.admin.TransactionListing;
import org.apache.kafka.clients.admin.TransactionState;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.errors.TransactionalIdNotFoundException;

/** The driver's view of a sink's transactions: asks the brokers for their state, and ends them. */
final class Transactions implements AutoCloseable {
  private static final long PATIENCE_NANOS = TimeUnit.SECONDS.toNanos(60);
  private static final long PAUSE_MILLIS = 20;
  private static final EnumSet<TransactionState> COMMITTED =
      EnumSet.of(TransactionState.PREPARE_COMMIT, TransactionState.COMPLETE_COMMIT);

  private final SinkSpec spec;
  private final Admin admin;
  private final EndTransactions ends;

  Transactions(SinkSpec spec) {
    this.spec = spec;
    Map<String, Object> client = new HashMap<>(KafkaSink.client(spec));
    client.remove("transaction.timeout.ms");
    this.admin = Topics.admin(client);
    this.ends = new EndTransactions(client);
  }

  /**
   * Commits them; what is committed already stays so. Returns those that have ended, and are not known to be committed.
   */
  List<PreparedTransaction> commit(List<PreparedTransaction> all) throws IOException {
    List<PreparedTransaction> lost = new ArrayList<>();
    List<PreparedTransaction> left = new ArrayList<>(all);
    long began = System.nanoTime();
    while (!left.isEmpty()) {
      Map<PreparedTransaction, Node> open = open(left, lost);
      left = ends.commit(open);
      if (!left.isEmpty()) {
        if (System.nanoTime() - began > PATIENCE_NANOS) {
          throw new IOException("transaction " + left.get(0).id() + " cannot be committed: " + ends.lastError());
        }
        pause();
      }
    }
    return lost;
  }

  /** Those that are open still, each with its coordinator. */
  private Map<PreparedTransaction, Node> open(List<PreparedTransaction> asked, List<PreparedTransaction> lost)
      throws IOException {
    Map<Integer, Node> nodes = new HashMap<>();
    Map<PreparedTransaction, Node> open = new HashMap<>();
    try {
      for (Node node : admin.describeCluster().nodes().get()) {
        nodes.put(node.id(), node);
      }
      var answers =
          admin.describeTransactions(asked.stream().map(PreparedTransaction::id).toList());
      for (PreparedTransaction one : asked) {
        TransactionDescription found = found(answers.description(one.id()));
        // With another epoch it is another transaction: the topic says how this one has ended.
        boolean same =
            found != null && found.producerId() == one.producerId() && found.producerEpoch() == one.producerEpoch();
        if (same && found.state() == TransactionState.ONGOING) {
          open.put(one, nodes.get(found.coordinatorId()));
        } else if (!same || !COMMITTED.contains(found.state())) {
          lost.add(one);
        }
      }
    } catch (ExecutionException e) {
      throw failed(e.getCause());
    } catch (InterruptedException e) {
      throw interrupted(e);
    }
    return open;
  }

  private static TransactionDescription found(org.apache.kafka.common.KafkaFuture<TransactionDescription> answer)
      throws ExecutionException, InterruptedException {
    try {
      return answer.get();
    } catch (ExecutionException e) {
      if (e.getCause() instanceof TransactionalIdNotFoundException) {
        return null;
      }
      throw e;
    }
  }

  /** Aborts what is open under this sink's ids, and fences every holder of one, which may be about to open another. */
  void abortOpen() throws IOException {
    try {
      List<String> ids = new ArrayList<>();
      for (TransactionListing listed : admin.listTransactions().all().get()) {
        if (listed.transactionalId().startsWith(KafkaSink.prefix(spec))) {
          ids.add(listed.transactionalId());
        }
      }
      if (!ids.isEmpty()) {
        admin.fenceProducers(ids).all().get();
      }
    } catch (ExecutionException e) {
      throw failed(e.getCause());
    } catch (InterruptedException e) {
      throw interrupted(e);
    }
  }

  private IOException failed(Throwable cause) {
    String code = Refused.is(cause) ? "MS-KAFKA-010" : "MS-KAFKA-005";
    return new IOException(
        code + ": sink \"" + spec.name() + "\": Kafka cannot be asked about its transactions: " + cause, cause);
  }

  private static void pause() throws IOException {
    try {
      Thread.sleep(PAUSE_MILLIS);
    } catch (InterruptedException e) {
      throw interrupted(e);
    }
  }

  private static IOException interrupted(InterruptedException cause) {
    Thread.currentThread().interrupt();
    return new IOException("interrupted", cause);
  }

  @Override
  public void close() {
    admin.close();
    ends.close();
  }
}
