package millstream.kafka;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.type.TypeReference;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.spark.sql.streaming.SourceProgress;
import org.apache.spark.sql.streaming.StreamingQueryListener;

/**
 * Notices, epoch by epoch, that a topic was deleted and made anew while a job reads it: the job's offsets would mean other
 * records, and where the new topic is longer than the old one was, nothing else would tell.
 */
public final class TopicIds extends StreamingQueryListener implements AutoCloseable {
  private static final long serialVersionUID = 1L;
  private static final ObjectMapper JSON = new ObjectMapper();

  private final UUID query;
  private final int source;
  private final transient Map<String, String> known;
  private final transient Admin admin;
  private volatile String madeAnew;

  /** {@code known}: the ids of topics by name, as JSON. A topic that appears later is known by its first id. */
  public TopicIds(String query, int source, String known, String client) throws JsonProcessingException {
    this.query = UUID.fromString(query);
    this.source = source;
    this.known = new ConcurrentHashMap<>(JSON.readValue(known, new TypeReference<HashMap<String, String>>() {}));
    this.admin = Topics.admin(Topics.read(client));
  }

  /** The name of such a topic, or null. */
  public String madeAnew() {
    return madeAnew;
  }

  @Override
  public void onQueryStarted(QueryStartedEvent event) {}

  @Override
  public void onQueryProgress(QueryProgressEvent event) {
    SourceProgress[] sources = event.progress().sources();
    if (event.progress().id().equals(query) && source < sources.length && sources[source].endOffset() != null) {
      ask(names(sources[source].endOffset()));
    }
  }

  /** A stream that rests is told of as well. */
  @Override
  public void onQueryIdle(QueryIdleEvent event) {
    if (event.id().equals(query)) {
      ask(new ArrayList<>(known.keySet()));
    }
  }

  @Override
  public void onQueryTerminated(QueryTerminatedEvent event) {}

  private static List<String> names(String offsets) {
    try {
      List<String> names = new ArrayList<>();
      JSON.readTree(offsets).fieldNames().forEachRemaining(names::add);
      return names;
    } catch (JsonProcessingException e) {
      throw new IllegalStateException(e);
    }
  }

  /** Who does not answer is asked again after the next epoch; that a topic is gone, its readers find out themselves. */
  private void ask(List<String> names) {
    admin.describeTopics(names).topicNameValues().values().forEach(answer -> answer.whenComplete((found, error) -> {
      if (error == null) {
        compare(found);
      }
    }));
  }

  private void compare(TopicDescription found) {
    String id = found.topicId().toString();
    String before = known.putIfAbsent(found.name(), id);
    if (before != null && !before.equals(id)) {
      madeAnew = found.name();
    }
  }

  @Override
  public void close() {
    admin.close(java.time.Duration.ZERO);
  }
}
