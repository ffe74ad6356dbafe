package millstream.kafka;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import millstream.source.SourceListener;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.KafkaFuture;
import org.apache.kafka.common.TopicPartition;
import org.apache.spark.sql.streaming.StreamingQueryProgress;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Tells a consumer group how far a source was read, after each committed epoch, so that ordinary tools see its lag.
 * Only the checkpoint says where a job continues: if the commit to the group fails, it is logged, and the job goes on.
 */
public final class GroupOffsets extends SourceListener {
  private static final long serialVersionUID = 1L;
  private static final Logger LOG = LoggerFactory.getLogger(GroupOffsets.class);
  private static final ObjectMapper JSON = new ObjectMapper();

  private static final long PATIENCE_S = 30;

  private final String group;
  private final transient Admin admin;
  private transient KafkaFuture<Void> told = KafkaFuture.completedFuture(null);
  private long last = -1;
  private volatile boolean warned;

  public GroupOffsets(String query, int place, String group, String client) throws JsonProcessingException {
    super(query, place);
    this.group = group;
    this.admin = Topics.admin(Topics.read(client));
  }

  /** Never goes back to an earlier epoch: an event may come late. */
  @Override
  protected synchronized void committed(long epoch, String end) {
    if (epoch >= last) {
      last = epoch;
      tell(end);
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

  /** Waits for each request: one may overtake another. */
  @Override
  public synchronized void finish(StreamingQueryProgress last) throws InterruptedException {
    await();
    super.finish(last);
  }

  /** Waits: a client that closes drops requests that are still looking for their broker. */
  @Override
  protected synchronized void ended() throws InterruptedException {
    await();
    last = Long.MAX_VALUE;
    admin.close();
  }

  private void await() throws InterruptedException {
    try {
      told.get(PATIENCE_S, TimeUnit.SECONDS);
    } catch (ExecutionException | TimeoutException e) {
      warn(e);
    }
  }
}
