package millstream.sink;

import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * What stands behind the placeholders in sinks' settings. Known to the driver alone, and filled in when settings go to
 * a client: the sinks' description itself is shown in Spark's plans.
 */
public final class Secrets {
  private static final Map<String, String> KNOWN = new ConcurrentHashMap<>();

  private Secrets() {}

  public static void put(String placeholder, String secret) {
    KNOWN.put(placeholder, secret);
  }

  static HashMap<String, String> fill(Map<String, String> settings) {
    HashMap<String, String> filled = new HashMap<>(settings);
    for (Map.Entry<String, String> secret : KNOWN.entrySet()) {
      filled.replaceAll((name, value) -> value.replace(secret.getKey(), secret.getValue()));
    }
    return filled;
  }
}
