package millstream.sink;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.List;

/**
 * What is to be published of an epoch in a journal: its files, in the order to publish them in.
 *
 * @param retried whether a task was tried again, and may have left other files
 */
record PreparedList(List<File> files, boolean retried) {
  /** A file in the partition's {@code open/}. */
  record File(int partition, String name, long records, long bytes) implements Serializable {}

  ObjectNode json() {
    ObjectNode json = JsonNodeFactory.instance.objectNode();
    ArrayNode list = json.putArray("files");
    for (File file : files) {
      list.addObject()
          .put("partition", file.partition)
          .put("name", file.name)
          .put("records", file.records)
          .put("bytes", file.bytes);
    }
    return retried ? json.put("retried", true) : json;
  }

  static PreparedList parse(JsonNode json) {
    List<File> files = new ArrayList<>();
    for (JsonNode file : json.get("files")) {
      files.add(new File(
          file.get("partition").asInt(),
          file.get("name").asText(),
          file.get("records").asLong(),
          file.get("bytes").asLong()));
    }
    return new PreparedList(files, json.path("retried").asBoolean());
  }
}
