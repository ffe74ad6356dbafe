package millstream.commit;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.nio.charset.StandardCharsets;

/**
 * One entry of a checkpoint's sequence: a run takes over, or an epoch counts.
 *
 * @param number its place in the sequence
 * @param run whose decision it is
 * @param from the first entry that a run has to read when it takes over
 * @param epoch the epoch that counts; -1 if a run takes over
 * @param commit what Spark writes to its commit log; null once it is there
 * @param watermarks how far each source is
 * @param sinks by writer, what its sink prepared; null once all of it is published
 */
public record Decision(
    long number, String run, long from, long epoch, String commit, ObjectNode watermarks, ObjectNode sinks) {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final int FORMAT = 1;
  private static final long NONE = -1;

  static Decision takeover(long number, String run, long from) {
    return new Decision(number, run, from, NONE, null, JSON.createObjectNode(), null);
  }

  /** Whether an epoch counts from here on. */
  boolean commits() {
    return epoch != NONE;
  }

  boolean isPublished() {
    return sinks == null;
  }

  /** The same when everything of it is in its place: only time is still of interest. */
  Decision published() {
    return new Decision(number, run, from, epoch, null, watermarks, null);
  }

  byte[] json() {
    ObjectNode json =
        JSON.createObjectNode().put("format", FORMAT).put("run", run).put("from", from);
    if (commits()) {
      json.put("epoch", epoch).set("watermarks", watermarks);
    }
    if (!isPublished()) {
      json.put("commit", commit).set("sinks", sinks);
    }
    return json.toString().getBytes(StandardCharsets.UTF_8);
  }

  static Decision parse(long number, byte[] bytes) throws IOException {
    JsonNode json = JSON.readTree(bytes);
    if (json.path("format").asInt() != FORMAT) {
      throw new IOException("decision " + number + " has format " + json.path("format") + ", not " + FORMAT);
    }
    JsonNode watermarks = json.get("watermarks");
    return new Decision(
        number,
        json.get("run").asText(),
        json.get("from").asLong(),
        json.path("epoch").asLong(NONE),
        json.path("commit").asText(null),
        watermarks == null ? JSON.createObjectNode() : (ObjectNode) watermarks,
        (ObjectNode) json.get("sinks"));
  }
}
