package millstream.sink;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import millstream.commit.Decision;
import millstream.journal.Disk;

/**
 * The paths of a checkpoint that kernels use, as Python hands them over: only Python knows the layout.
 *
 * @param spark the folder that Spark keeps
 * @param lock held by the one run
 * @param decisions the sequence of what was decided
 * @param query what Spark knows about the query
 * @param offsets Spark's log of what epochs read
 * @param commits Spark's log of epochs that are committed
 */
record CheckpointPaths(String spark, String lock, String decisions, String query, String offsets, String commits) {
  static CheckpointPaths parse(String json) {
    try {
      JsonNode paths = new ObjectMapper().readTree(json);
      return new CheckpointPaths(
          path(paths, "spark"),
          path(paths, "lock"),
          path(paths, "decisions"),
          path(paths, "query"),
          path(paths, "offsets"),
          path(paths, "commits"));
    } catch (JsonProcessingException e) {
      throw SinkException.badOption("the checkpoint's paths are not JSON: " + e.getOriginalMessage());
    }
  }

  /** The epoch counts, but the run that decided so may have had no time to write Spark's log. */
  void record(Decision decision) throws IOException {
    Disk disk = Disk.of(commits);
    String file = commits + "/" + decision.epoch();
    if (!disk.exists(file)) {
      disk.makeFolder(commits);
      disk.writeAtomically(file, decision.commit().getBytes(StandardCharsets.UTF_8));
    }
  }

  /** The last epoch in Spark's log; -1: none. */
  long lastCommitted() throws IOException {
    long last = -1;
    for (String name : Disk.of(commits).list(commits)) {
      if (!name.isEmpty() && name.chars().allMatch(c -> c >= '0' && c <= '9')) {
        last = Math.max(last, Long.parseLong(name));
      }
    }
    return last;
  }

  /** The id of the query; null until it has been started once. */
  String queryId() throws IOException {
    Disk disk = Disk.of(query);
    if (!disk.exists(query)) {
      return null;
    }
    return new ObjectMapper().readTree(disk.readAll(query)).path("id").asText(null);
  }

  private static String path(JsonNode paths, String name) {
    if (!paths.hasNonNull(name)) {
      throw SinkException.badOption("the checkpoint's path \"" + name + "\" is missing.");
    }
    return paths.get(name).asText();
  }
}
