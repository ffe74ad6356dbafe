package millstream.kafka;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import millstream.journal.Disk;
import millstream.sink.SinkSpec;

/** The transactions that replaced those that Kafka aborted: files in the checkpoint, as FORMAT.md says. */
final class Repairs {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final Pattern NAME = Pattern.compile("([\\w.]+)-(\\d{12})\\.json");
  private static final int FORMAT = 3;
  private final String writer;
  private final Disk disk;
  private final String folder;

  Repairs(SinkSpec spec) {
    writer = spec.writer();
    disk = Disk.of(spec.setting("repairs"));
    folder = Disk.plain(spec.setting("repairs"));
  }

  private String file(long epoch) {
    return String.format("%s/%s-%012d.json", folder, writer, epoch);
  }

  void write(long epoch, List<PreparedTransaction> transactions) throws IOException {
    String json = PreparedTransaction.json(transactions).put("format", FORMAT).toString();
    disk.makeFolder(folder);
    disk.writeAtomically(file(epoch), json.getBytes(StandardCharsets.UTF_8));
  }

  /** Null if none of that epoch was aborted. */
  List<PreparedTransaction> read(long epoch) throws IOException {
    if (!disk.exists(file(epoch))) {
      return null;
    }
    JsonNode json = JSON.readTree(disk.readAll(file(epoch)));
    if (json.path("format").asInt() != FORMAT) {
      throw new IOException("a list of repaired transactions has format " + json.path("format") + ", not " + FORMAT);
    }
    return PreparedTransaction.parse(json);
  }

  /** When everything is published. */
  void delete() throws IOException {
    for (String name : disk.list(folder)) {
      Matcher matcher = NAME.matcher(name);
      if (matcher.matches() && matcher.group(1).equals(writer)) {
        disk.delete(folder + "/" + name);
      }
    }
  }
}
