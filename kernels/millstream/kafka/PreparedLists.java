package millstream.kafka;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.StreamSupport;
import millstream.journal.Disk;
import millstream.sink.SinkSpec;

/**
 * For each epoch that is prepared and not yet published, its transactions: files next to the checkpoint, as FORMAT.md
 * says.
 */
final class PreparedLists {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final Pattern NAME = Pattern.compile("([\\w.]+)-(\\d{12})\\.json");
  private static final int FORMAT = 2;
  private final String writer;
  private final Disk disk;
  private final String folder;

  PreparedLists(SinkSpec spec) {
    writer = spec.writer();
    disk = Disk.of(spec.setting("prepared"));
    folder = Disk.plain(spec.setting("prepared"));
  }

  private String file(long epoch) {
    return String.format("%s/%s-%012d.json", folder, writer, epoch);
  }

  void write(long epoch, List<PreparedTransaction> transactions) throws IOException {
    ObjectNode json = JSON.createObjectNode().put("format", FORMAT).put("epoch", epoch);
    ArrayNode list = json.putArray("transactions");
    for (PreparedTransaction one : transactions) {
      ObjectNode places = list.addObject()
          .put("id", one.id())
          .put("producer", one.producerId())
          .put("epoch", one.producerEpoch())
          .putObject("places");
      one.places().byPartition().forEach((partition, runs) -> {
        ArrayNode bounds = places.putArray(partition.toString());
        for (long bound : runs.bounds()) {
          bounds.add(bound);
        }
      });
    }
    disk.makeFolder(folder);
    disk.writeAtomically(file(epoch), json.toString().getBytes(StandardCharsets.UTF_8));
  }

  TreeSet<Long> epochs() throws IOException {
    TreeSet<Long> epochs = new TreeSet<>();
    for (String name : disk.list(folder)) {
      Matcher matcher = NAME.matcher(name);
      if (matcher.matches() && matcher.group(1).equals(writer)) {
        epochs.add(Long.parseLong(matcher.group(2)));
      }
    }
    return epochs;
  }

  List<PreparedTransaction> read(long epoch) throws IOException {
    JsonNode json = JSON.readTree(disk.readAll(file(epoch)));
    if (json.path("format").asInt() != FORMAT) {
      throw new IOException("a list of prepared transactions has format " + json.path("format") + ", not " + FORMAT);
    }
    List<PreparedTransaction> found = new ArrayList<>();
    for (JsonNode one : json.get("transactions")) {
      found.add(new PreparedTransaction(
          one.get("id").asText(),
          one.get("producer").asLong(),
          (short) one.get("epoch").asInt(),
          places(one.get("places"))));
    }
    return found;
  }

  private static Places places(JsonNode json) {
    Places places = new Places();
    for (Map.Entry<String, JsonNode> part : json.properties()) {
      long[] bounds = StreamSupport.stream(part.getValue().spliterator(), false)
          .mapToLong(JsonNode::asLong)
          .toArray();
      places.put(Integer.parseInt(part.getKey()), new Places.Runs(bounds));
    }
    return places;
  }

  void delete(long epoch) throws IOException {
    disk.delete(file(epoch));
  }
}
