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
import org.apache.kafka.common.KafkaFuture;
import org.apache.kafka.common.errors.UnknownTopicOrPartitionException;

/** What topics a cluster has. Answers are JSON, for Python. */
public final class Topics {
  private static final ObjectMapper JSON = new ObjectMapper();

  private Topics() {}

  /**
   * Those of these names, as a JSON list, or those that a regular expression matches as a whole, as a consumer's
   * subscription does: {@code {"topics": {"likes": {"partitions": 2, "id": "…"}}}}. If one is not there,
   * {@code "others"} lists what there is. {@code {"error": "…"}} if the cluster does not answer, {@code {"refused":
   * "…"}} if it refuses the login.
   */
  public static String find(String client, String names, String pattern)
      throws JsonProcessingException, InterruptedException {
    try (Admin admin = admin(read(client))) {
      List<String> wanted = JSON.readValue(names, new TypeReference<List<String>>() {});
      Map<String, Object> answer = new HashMap<>();
      Map<String, Object> found = described(admin, pattern == null ? wanted : matching(admin, pattern));
      answer.put("topics", found);
      if (!found.keySet().containsAll(wanted)) {
        answer.put("others", admin.listTopics().names().get());
      }
      return JSON.writeValueAsString(answer);
    } catch (ExecutionException | KafkaException e) {
      Throwable cause = e.getCause() == null ? e : e.getCause();
      String what = Refused.is(e) ? "refused" : "error";
      return JSON.writeValueAsString(Map.of(what, String.valueOf(cause.getMessage())));
    }
  }

  private static List<String> matching(Admin admin, String pattern) throws ExecutionException, InterruptedException {
    Pattern compiled = Pattern.compile(pattern);
    return admin.listTopics().names().get().stream()
        .filter(name -> compiled.matcher(name).matches())
        .toList();
  }

  private static Map<String, Object> described(Admin admin, List<String> names)
      throws ExecutionException, InterruptedException {
    Map<String, Object> found = new TreeMap<>();
    for (KafkaFuture<TopicDescription> answer :
        admin.describeTopics(names).topicNameValues().values()) {
      try {
        TopicDescription topic = answer.get();
        found.put(
            topic.name(),
            Map.of(
                "partitions", topic.partitions().size(), "id", topic.topicId().toString()));
      } catch (ExecutionException e) {
        if (!(e.getCause() instanceof UnknownTopicOrPartitionException)) {
          throw e;
        }
      }
    }
    return found;
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
