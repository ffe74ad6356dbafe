package millstream.python;

import java.io.Serializable;
import java.util.HashMap;
import scala.jdk.javaapi.CollectionConverters;

/** Which Python runs a user's code, and in which environment. */
public record WorkerPlace(String python, HashMap<String, String> environment) implements Serializable {
  scala.collection.immutable.Map<String, String> asScala() {
    return scala.collection.immutable.Map.from(CollectionConverters.asScala(environment));
  }
}
