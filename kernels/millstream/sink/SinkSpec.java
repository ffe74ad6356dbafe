package millstream.sink;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;

/** One sink of a job, as Python describes it. Settings hold what only its kind understands. */
public record SinkSpec(String name, String kind, String writer, Mode mode, HashMap<String, String> settings)
    implements Serializable {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final Pattern ESCAPED = Pattern.compile("[^A-Za-z0-9_.]|_(?=x)");

  /** What a row's weight means to the sink. */
  public enum Mode {
    APPEND,
    UPSERT,
    CHANGELOG
  }

  public static List<SinkSpec> parse(String json) {
    List<SinkSpec> specs = new ArrayList<>();
    Set<String> seen = new HashSet<>();
    try {
      for (JsonNode node : JSON.readTree(json)) {
        SinkSpec spec = of(node);
        if (!seen.add(spec.writer)) {
          throw SinkException.badOption("two sinks write as writer \"" + spec.writer + "\".");
        }
        specs.add(spec);
      }
    } catch (JsonProcessingException e) {
      throw SinkException.badOption("option sinks is not JSON: " + e.getOriginalMessage());
    }
    return specs;
  }

  private static SinkSpec of(JsonNode node) {
    HashMap<String, String> settings = new HashMap<>();
    for (Map.Entry<String, JsonNode> field : node.properties()) {
      settings.put(field.getKey(), field.getValue().asText());
    }
    String name = take(settings, "name");
    String writer = escaped(take(settings, "writer"));
    String mode = take(settings, "mode");
    try {
      Mode parsed = Mode.valueOf(mode.toUpperCase(Locale.ROOT));
      return new SinkSpec(name, take(settings, "kind"), writer, parsed, Secrets.fill(settings));
    } catch (IllegalArgumentException e) {
      throw SinkException.badOption(
          "sink \"" + name + "\" has mode \"" + mode + "\"; append, upsert and changelog exist.");
    }
  }

  /**
   * In file names '-' separates the writer from the epoch, so the writer may not contain it; other characters may mean
   * something to a disk. Different names stay different: what looks like an escape is escaped, too.
   */
  private static String escaped(String writer) {
    return ESCAPED
        .matcher(writer)
        .replaceAll(found -> String.format("_x%x_", found.group().codePointAt(0)));
  }

  /** Without the settings: there may be secrets among them. */
  @Override
  public String toString() {
    return kind + " sink " + name;
  }

  private static String take(Map<String, String> settings, String name) {
    String value = settings.remove(name);
    if (value == null || value.isEmpty()) {
      throw SinkException.badOption("a sink lacks \"" + name + "\".");
    }
    return value;
  }

  /** Whether its rows wait for a carrier. */
  boolean isCarried() {
    return settings.containsKey("carried");
  }

  public String setting(String name) {
    String value = settings.get(name);
    if (value == null) {
      throw SinkException.badOption("sink \"" + this.name + "\" lacks \"" + name + "\".");
    }
    return value;
  }
}
