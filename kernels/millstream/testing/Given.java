package millstream.testing;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.io.Serializable;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;

/**
 * The input of a test: for each source the records of every step, and what the clock says in each.
 *
 * <p>A step is one Spark epoch. All sources move on by one step at a time, whether they have records or not, so the
 * test alone says what comes together. It lives in the driver, under a name, as long as the test runs.
 */
public final class Given {
  static final StructType SCHEMA = (StructType)
      DataType.fromDDL("key BINARY, value BINARY, topic STRING, headers ARRAY<STRUCT<key: STRING, value: BINARY>>,"
          + " partition INT, offset BIGINT, timestamp TIMESTAMP");

  private static final Map<String, Given> ALL = new ConcurrentHashMap<>();
  private static final ObjectMapper JSON = new ObjectMapper();

  /** A record, its time in microseconds. */
  record Entry(byte[] key, byte[] value, long offset, long micros) implements Serializable {}

  private final Map<String, List<List<Entry>>> sources = new HashMap<>();
  private final List<Long> clock = new ArrayList<>();
  private volatile long until;
  private volatile long now;

  private Given(JsonNode json) throws IOException {
    for (JsonNode step : json.get("clock")) {
      clock.add(step.isNull() ? null : step.asLong());
    }
    for (Map.Entry<String, JsonNode> source : json.get("sources").properties()) {
      List<List<Entry>> steps = new ArrayList<>();
      long offset = 0;
      for (JsonNode step : source.getValue()) {
        List<Entry> entries = new ArrayList<>();
        for (JsonNode entry : step) {
          entries.add(new Entry(
              bytes(entry.get(0)), bytes(entry.get(1)), offset++, entry.get(2).asLong()));
        }
        steps.add(entries);
      }
      sources.put(source.getKey(), steps);
    }
    until = clock.size();
  }

  private static byte[] bytes(JsonNode node) throws IOException {
    return node.isNull() ? null : node.binaryValue();
  }

  /** {@code {"clock": [ms or null, …], "sources": {"likes": [[[key, value, micros], …], …]}}}, bytes in base 64. */
  public static void put(String name, String json) {
    try {
      ALL.put(name, new Given(JSON.readTree(json)));
    } catch (JsonProcessingException e) {
      throw new IllegalArgumentException(e);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Lets a run come to this step and no further. */
  public static void until(String name, long step) {
    of(name).until = step;
  }

  public static void remove(String name) {
    ALL.remove(name);
  }

  static Given of(String name) {
    Given found = ALL.get(name);
    if (found == null) {
      throw new IllegalStateException("the test \"" + name + "\" is over, or is another process's.");
    }
    return found;
  }

  /** The step after this one; the same one at the end. Spark asks for it before it looks at the clock. */
  long next(long step) {
    long next = Math.min(step + 1, until);
    Long told = next > step ? clock.get((int) step) : null;
    if (told != null) {
      now = told;
    }
    return next;
  }

  /** What the clock says: 0 before the first time that the test names. */
  long now() {
    return now;
  }

  ArrayList<Entry> between(String source, long from, long to) {
    ArrayList<Entry> found = new ArrayList<>();
    List<List<Entry>> steps = sources.getOrDefault(source, List.of());
    for (long step = from; step < Math.min(to, steps.size()); step++) {
      found.addAll(steps.get((int) step));
    }
    return found;
  }

  ArrayList<Entry> all(String source) {
    return between(source, 0, clock.size());
  }
}
