package millstream.python;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.Serializable;
import java.util.HashMap;
import java.util.Map;
import scala.jdk.javaapi.CollectionConverters;

/** Which Python runs a user's code, and in which environment. */
public record WorkerPlace(String python, HashMap<String, String> environment) implements Serializable {
  public static WorkerPlace of(JsonNode json) {
    HashMap<String, String> environment = new HashMap<>();
    for (Map.Entry<String, JsonNode> part : json.get("environment").properties()) {
      environment.put(part.getKey(), part.getValue().asText());
    }
    return new WorkerPlace(json.get("python").asText(), environment);
  }

  scala.collection.immutable.Map<String, String> asScala() {
    return scala.collection.immutable.Map.from(CollectionConverters.asScala(environment));
  }
}
