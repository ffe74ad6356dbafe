package millstream.kafka;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.type.TypeReference;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import millstream.source.SourceListener;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.TopicDescription;

/**
 * Notices, epoch by epoch, that a topic was deleted and created again while a job reads it: the job's offsets would
 * mean other records, and if the new topic is longer than the old one was, nothing else would show it.
 */
public final class TopicIds extends SourceListener {
  private static final long serialVersionUID = 1L;
  private static final ObjectMapper JSON = new ObjectMapper();

  private final String name;
  private final transient Map<String, String> known;
  private final transient Admin admin;
  private volatile String madeAnew;

  /**
   * {@code name}: the source's. {@code known}: the ids of topics by name, as JSON. A topic that appears later is known
   * by its first id.
   */
  public TopicIds(String query, int place, String name, String known, String client) throws JsonProcessingException {
    super(query, place);
    this.name = name;
    this.known = new ConcurrentHashMap<>(JSON.readValue(known, new TypeReference<HashMap<String, String>>() {}));
    this.admin = Topics.admin(Topics.read(client));
  }

  @Override
  public void check() {
    if (madeAnew != null) {
      throw new IllegalStateException("MS-SOURCE-007: source \"" + name + "\": \"" + madeAnew
          + "\" was deleted and created again since the checkpoint.");
    }
  }

  @Override
  protected void committed(long epoch, String end) {
    ask(names(end));
  }

  /** Also called while the stream rests. */
  @Override
  protected void rests() {
    ask(new ArrayList<>(known.keySet()));
  }

  private static List<String> names(String offsets) {
    try {
      List<String> names = new ArrayList<>();
      JSON.readTree(offsets).fieldNames().forEachRemaining(names::add);
      return names;
    } catch (JsonProcessingException e) {
      throw new IllegalStateException(e);
    }
  }

  /**
   * If the brokers do not answer, they are asked again after the next epoch; readers notice by themselves that a topic
   * is gone.
   */
  private void ask(List<String> names) {
    admin
        .describeTopics(names)
        .topicNameValues()
        .values()
        .forEach(answer -> answer.whenComplete((found, error) -> {
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
  protected void ended() {
    admin.close(java.time.Duration.ZERO);
  }
}
