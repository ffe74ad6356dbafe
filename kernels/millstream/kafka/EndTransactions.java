package millstream.kafka;

import java.io.IOException;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.ApiVersions;
import org.apache.kafka.clients.ClientRequest;
import org.apache.kafka.clients.ClientResponse;
import org.apache.kafka.clients.ClientUtils;
import org.apache.kafka.clients.DefaultHostResolver;
import org.apache.kafka.clients.ManualMetadataUpdater;
import org.apache.kafka.clients.NetworkClient;
import org.apache.kafka.clients.NetworkClientUtils;
import org.apache.kafka.clients.admin.AdminClientConfig;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.message.EndTxnRequestData;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.requests.EndTxnRequest;
import org.apache.kafka.common.requests.EndTxnResponse;
import org.apache.kafka.common.utils.LogContext;
import org.apache.kafka.common.utils.Time;

/**
 * Sends the one request that Kafka's clients do not offer: to commit a transaction that another process has begun. Many
 * at once, over one connection per broker.
 */
final class EndTransactions implements AutoCloseable {
  private static final int REQUEST_MILLIS = 10_000;
  private static final long PATIENCE_NANOS =
      TimeUnit.MILLISECONDS.toNanos(REQUEST_MILLIS) + TimeUnit.SECONDS.toNanos(5);
  private static final int IN_FLIGHT = 1_000;

  private final Time time = Time.SYSTEM;
  private final Metrics metrics = new Metrics();
  private final NetworkClient client;
  private String lastError = "no answer";

  /** One call: what is not known to be committed. An answer that comes after its end changes no later one. */
  private static final class Asked {
    final Set<PreparedTransaction> unconfirmed;
    int waiting;

    Asked(Set<PreparedTransaction> all) {
      unconfirmed = new LinkedHashSet<>(all);
    }
  }

  EndTransactions(Map<String, Object> settings) {
    client = ClientUtils.createNetworkClient(
        new AdminClientConfig(settings),
        "millstream-transactions",
        metrics,
        "millstream-transactions",
        new LogContext("[millstream transactions] "),
        new ApiVersions(),
        time,
        IN_FLIGHT,
        REQUEST_MILLIS,
        new ManualMetadataUpdater(),
        new DefaultHostResolver());
  }

  /** Returns those that are not known to be committed: to be checked, and tried again. */
  List<PreparedTransaction> commit(Map<PreparedTransaction, Node> open) {
    Asked asked = new Asked(open.keySet());
    for (Map.Entry<PreparedTransaction, Node> one : open.entrySet()) {
      try {
        send(one.getKey(), one.getValue(), asked);
      } catch (IOException e) {
        lastError = e.getMessage();
      }
    }
    long began = System.nanoTime();
    while (asked.waiting > 0 && System.nanoTime() - began < PATIENCE_NANOS) {
      client.poll(100, time.milliseconds());
    }
    return new ArrayList<>(asked.unconfirmed);
  }

  private void send(PreparedTransaction one, Node broker, Asked asked) throws IOException {
    if (broker == null || !NetworkClientUtils.awaitReady(client, broker, time, REQUEST_MILLIS)) {
      throw new IOException("broker " + broker + " does not answer");
    }
    EndTxnRequestData end = new EndTxnRequestData()
        .setTransactionalId(one.id())
        .setProducerId(one.producerId())
        .setProducerEpoch(one.producerEpoch())
        .setCommitted(true);
    ClientRequest request = client.newClientRequest(
        broker.idString(),
        new EndTxnRequest.Builder(end),
        time.milliseconds(),
        true,
        REQUEST_MILLIS,
        response -> answered(response, one, asked));
    asked.waiting++;
    client.send(request, time.milliseconds());
  }

  private void answered(ClientResponse response, PreparedTransaction one, Asked asked) {
    asked.waiting--;
    Errors error =
        response.hasResponse() ? ((EndTxnResponse) response.responseBody()).error() : Errors.NETWORK_EXCEPTION;
    if (error == Errors.NONE) {
      asked.unconfirmed.remove(one);
    } else {
      lastError = error.message();
    }
  }

  String lastError() {
    return lastError;
  }

  @Override
  public void close() {
    client.close();
    metrics.close();
  }
}
