package millstream.kafka;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.HashMap;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.KafkaFuture;
import org.apache.kafka.common.TopicPartition;
import org.apache.spark.sql.streaming.SourceProgress;
import org.apache.spark.sql.streaming.StreamingQueryListener;
import org.apache.spark.sql.streaming.StreamingQueryProgress;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Tells a consumer group how far a source was read, after each committed epoch, so that ordinary tools see its lag. The
 * checkpoint alone says where a job goes on: if the group cannot be told, the log says so, and the job goes on.
 */
public final class GroupOffsets extends StreamingQueryListener implements AutoCloseable {
  private static final long serialVersionUID = 1L;
  private static final Logger LOG = LoggerFactory.getLogger(GroupOffsets.class);
  private static final ObjectMapper JSON = new ObjectMapper();

  private static final long PATIENCE_S = 30;

  private final UUID query;
  private final int source;
  private final String group;
  private final transient Admin admin;
  private transient KafkaFuture<Void> told = KafkaFuture.completedFuture(null);
  private long epoch = -1;
  private volatile boolean warned;

  public GroupOffsets(String query, int source, String group, String client) throws JsonProcessingException {
    this.query = UUID.fromString(query);
    this.source = source;
    this.group = group;
    this.admin = Topics.admin(Topics.read(client));
  }

  @Override
  public void onQueryStarted(QueryStartedEvent event) {}

  @Override
  public void onQueryProgress(QueryProgressEvent event) {
    if (event.progress().id().equals(query)) {
      tell(event.progress());
    }
  }

  /** Never of an epoch before one that was told of: an event may come late. */
  private synchronized void tell(StreamingQueryProgress progress) {
    SourceProgress[] sources = progress.sources();
    if (progress.batchId() >= epoch && source < sources.length && sources[source].endOffset() != null) {
      epoch = progress.batchId();
      tell(sources[source].endOffset());
    }
  }

  private void tell(String end) {
    try {
      Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>();
      for (Map.Entry<String, JsonNode> topic : JSON.readTree(end).properties()) {
        for (Map.Entry<String, JsonNode> part : topic.getValue().properties()) {
          TopicPartition partition = new TopicPartition(topic.getKey(), Integer.parseInt(part.getKey()));
          offsets.put(partition, new OffsetAndMetadata(part.getValue().asLong()));
        }
      }
      told = admin.alterConsumerGroupOffsets(group, offsets).all().whenComplete((done, error) -> warn(error));
    } catch (JsonProcessingException | RuntimeException e) {
      warn(e);
    }
  }

  private void warn(Throwable error) {
    if (error != null && !warned) {
      warned = true;
      LOG.warn("consumer group {} cannot be told how far the job has read: {}", group, error.getMessage());
    }
  }

  @Override
  public void onQueryTerminated(QueryTerminatedEvent event) {}

  /**
   * Tells of the last epoch, whose event may be on its way still; null if there was none. A client that closes drops
   * what still looks for its broker, and one request may overtake another: each is waited for.
   */
  public synchronized void finish(StreamingQueryProgress last) throws InterruptedException {
    await();
    if (last != null) {
      tell(last);
      await();
    }
    epoch = Long.MAX_VALUE;
    close();
  }

  private void await() throws InterruptedException {
    try {
      told.get(PATIENCE_S, TimeUnit.SECONDS);
    } catch (ExecutionException | TimeoutException e) {
      warn(e);
    }
  }

  @Override
  public void close() {
    admin.close();
  }
}
