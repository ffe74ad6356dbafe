package millstream.kafka;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.type.TypeReference;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ExecutionException;
import java.util.regex.Pattern;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.common.KafkaException;

/** What topics a cluster has. Answers are JSON, for Python. */
public final class Topics {
  private static final ObjectMapper JSON = new ObjectMapper();

  private Topics() {}

  /** {@code {"topics": {"likes": {"partitions": 2, "id": "…"}}}}, or {@code {"error": "…"}} if the cluster does not answer. */
  public static String partitions(String client) throws JsonProcessingException, InterruptedException {
    try (Admin admin = admin(read(client))) {
      Map<String, Map<String, Object>> found = new TreeMap<>();
      for (TopicDescription topic : admin.describeTopics(admin.listTopics().names().get()).allTopicNames().get().values()) {
        found.put(topic.name(), Map.of("partitions", topic.partitions().size(), "id", topic.topicId().toString()));
      }
      return JSON.writeValueAsString(Map.of("topics", found));
    } catch (ExecutionException e) {
      return JSON.writeValueAsString(Map.of("error", String.valueOf(e.getCause().getMessage())));
    } catch (KafkaException e) {
      Throwable cause = e.getCause() == null ? e : e.getCause();
      return JSON.writeValueAsString(Map.of("error", String.valueOf(cause.getMessage())));
    }
  }

  /** Those of a list of names that a regular expression matches as a whole, as a consumer's subscription does. */
  public static String matching(String names, String pattern) throws JsonProcessingException {
    Pattern compiled = Pattern.compile(pattern);
    List<String> all = JSON.readValue(names, new TypeReference<List<String>>() {});
    return JSON.writeValueAsString(all.stream().filter(name -> compiled.matcher(name).matches()).toList());
  }

  static Map<String, Object> read(String json) throws JsonProcessingException {
    return JSON.readValue(json, new TypeReference<HashMap<String, Object>>() {});
  }

  /** A client that gives up in time for a user who waits. */
  static Admin admin(Map<String, Object> settings) {
    Map<String, Object> own = new HashMap<>(settings);
    own.putIfAbsent("default.api.timeout.ms", "15000");
    own.putIfAbsent("request.timeout.ms", "10000");
    return Admin.create(own);
  }
}
