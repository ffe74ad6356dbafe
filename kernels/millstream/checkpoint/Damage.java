package millstream.checkpoint;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.NoSuchFileException;
import java.util.HashMap;
import java.util.Map;
import java.util.zip.CRC32C;
import millstream.journal.Disk;

/**
 * Checks whether a run can continue from an epoch: its logs can be read, and the files of its state are there and are
 * what their checksums say.
 *
 * <pre>
 *   commits/e ─ the id of each task's state ─▶ (e+1)_id.changelog, and those before it, back to a snapshot (.zip)
 * </pre>
 */
public final class Damage {
  private static final ObjectMapper JSON = new ObjectMapper();

  private final Disk disk;
  private final String spark;
  /** By epoch, the ids of its state: all tasks ask for them. */
  private final Map<Long, JsonNode> known = new HashMap<>();

  private Damage(String spark) {
    this.disk = Disk.of(spark);
    this.spark = Disk.plain(spark);
  }

  /** What is wrong with a committed epoch; NULL: nothing. {@code first}: the first epoch whose state is looked for. */
  public static String of(String spark, long epoch, long first) throws IOException {
    return new Damage(spark).find(epoch, first);
  }

  private String find(long epoch, long first) throws IOException {
    String offsets = offsets(epoch);
    if (offsets != null) {
      return offsets;
    }
    JsonNode ids = ids(epoch);
    if (ids == null) {
      return commits(epoch) + " cannot be read";
    }
    for (Map.Entry<String, JsonNode> stage : ids.properties()) {
      for (int task = 0; task < stage.getValue().size(); task++) {
        String found = state(stage.getKey(), task, epoch, first);
        if (found != null) {
          return found;
        }
      }
    }
    return null;
  }

  private String commits(long epoch) {
    return spark + "/commits/" + epoch;
  }

  private String offsets(long epoch) throws IOException {
    String file = spark + "/offsets/" + epoch;
    byte[] content = read(file);
    String[] lines = content == null ? new String[0] : new String(content, StandardCharsets.UTF_8).split("\n");
    try {
      return lines.length > 2 && JSON.readTree(lines[1]).has("batchWatermarkMs") ? null : file + " cannot be read";
    } catch (IOException error) {
      return file + " cannot be read";
    }
  }

  /** By stage and task; NULL: they cannot be read. */
  private JsonNode ids(long epoch) throws IOException {
    if (!known.containsKey(epoch)) {
      known.put(epoch, readIds(epoch));
    }
    return known.get(epoch);
  }

  private JsonNode readIds(long epoch) throws IOException {
    byte[] content = read(commits(epoch));
    String[] lines = content == null ? new String[0] : new String(content, StandardCharsets.UTF_8).split("\n");
    try {
      return lines.length > 1 ? JSON.readTree(lines[1]).path("stateUniqueIds") : null;
    } catch (IOException error) {
      return null;
    }
  }

  /** A task's state: changes back to a snapshot. */
  private String state(String stage, int task, long epoch, long first) throws IOException {
    String folder = spark + "/state/" + stage + "/" + task + "/";
    for (long at = epoch; at >= first; at--) {
      JsonNode ids = ids(at);
      String id = ids == null ? null : ids.path(stage).path(task).path(0).asText(null);
      if (id == null) {
        return commits(at) + " cannot be read";
      }
      String snapshot = folder + (at + 1) + "_" + id + ".zip";
      if (disk.exists(snapshot)) {
        return checked(snapshot);
      }
      String changes = checked(folder + (at + 1) + "_" + id + ".changelog");
      if (changes != null) {
        return changes;
      }
    }
    // Older epochs are not kept: a snapshot that is even older is.
    return null;
  }

  private String checked(String file) throws IOException {
    byte[] content = read(file);
    if (content == null) {
      return file + " is missing";
    }
    byte[] said = read(file + ".crc");
    if (said == null) {
      return null;
    }
    JsonNode sum = JSON.readTree(said);
    CRC32C found = new CRC32C();
    found.update(content);
    boolean whole = content.length == sum.path("mainFileSize").asLong(content.length)
        && (int) found.getValue() == sum.path("value").asInt();
    return whole ? null : file + " is not what its checksum says";
  }

  private byte[] read(String file) throws IOException {
    try {
      return disk.readAll(file);
    } catch (FileNotFoundException | NoSuchFileException gone) {
      return null;
    }
  }
}
