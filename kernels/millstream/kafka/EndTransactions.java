package millstream.kafka;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
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
 * Sends the one request for which Kafka's clients have no call: to commit a transaction that another process has begun. Many at
 * once, over one connection per broker.
 */
final class EndTransactions implements AutoCloseable {
  private static final int REQUEST_MILLIS = 10_000;
  private static final int IN_FLIGHT = 1_000;

  private final Time time = Time.SYSTEM;
  private final Metrics metrics = new Metrics();
  private final NetworkClient client;
  private int waiting;
  private String lastError = "no answer";

  EndTransactions(Map<String, Object> settings) {
    client =
        ClientUtils.createNetworkClient(
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

  /** Gives those of which it is not known that they are committed: to be asked after, and tried again. */
  List<PreparedTransaction> commit(Map<PreparedTransaction, Node> open) {
    List<PreparedTransaction> left = new ArrayList<>();
    waiting = 0;
    for (Map.Entry<PreparedTransaction, Node> one : open.entrySet()) {
      try {
        send(one.getKey(), one.getValue(), left);
      } catch (IOException e) {
        lastError = e.getMessage();
        left.add(one.getKey());
      }
    }
    long deadline = time.milliseconds() + REQUEST_MILLIS + TimeUnit.SECONDS.toMillis(5);
    while (waiting > 0 && time.milliseconds() < deadline) {
      client.poll(100, time.milliseconds());
    }
    return left;
  }

  private void send(PreparedTransaction one, Node broker, List<PreparedTransaction> left) throws IOException {
    if (broker == null || !NetworkClientUtils.awaitReady(client, broker, time, REQUEST_MILLIS)) {
      throw new IOException("broker " + broker + " does not answer");
    }
    EndTxnRequestData end =
        new EndTxnRequestData()
            .setTransactionalId(one.id())
            .setProducerId(one.producerId())
            .setProducerEpoch(one.producerEpoch())
            .setCommitted(true);
    ClientRequest request =
        client.newClientRequest(
            broker.idString(), new EndTxnRequest.Builder(end), time.milliseconds(), true, REQUEST_MILLIS,
            response -> answered(response, one, left));
    waiting++;
    client.send(request, time.milliseconds());
  }

  private void answered(ClientResponse response, PreparedTransaction one, List<PreparedTransaction> left) {
    waiting--;
    Errors error =
        response.hasResponse() ? ((EndTxnResponse) response.responseBody()).error() : Errors.NETWORK_EXCEPTION;
    if (error != Errors.NONE) {
      lastError = error.message();
      left.add(one);
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
