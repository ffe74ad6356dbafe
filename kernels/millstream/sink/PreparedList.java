package millstream.sink;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.io.Serializable;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The list that the driver writes when an epoch is prepared: its files, in the order to publish them in. */
record PreparedList(long epoch, List<File> files) {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final Pattern NAME = Pattern.compile("([\\w.]+)-(\\d{12})\\.json");
  private static final int FORMAT = 1;

  /** A file of an epoch. {@code bytes}: -1 in lists of before they said so. */
  record File(int partition, String name, long records, long bytes) implements Serializable {}

  static String name(String writer, long epoch) {
    return String.format("%s-%012d.json", writer, epoch);
  }

  /** The epoch in a list's name, or -1 if the list is not of this writer. */
  static long epoch(String name, String writer) {
    Matcher matcher = NAME.matcher(name);
    return matcher.matches() && matcher.group(1).equals(writer) ? Long.parseLong(matcher.group(2)) : -1;
  }

  byte[] json() {
    ObjectNode json = JSON.createObjectNode().put("format", FORMAT).put("epoch", epoch);
    ArrayNode list = json.putArray("files");
    for (File file : files) {
      list.addObject()
          .put("partition", file.partition)
          .put("name", file.name)
          .put("records", file.records)
          .put("bytes", file.bytes);
    }
    return json.toString().getBytes(StandardCharsets.UTF_8);
  }

  static PreparedList parse(byte[] json) throws IOException {
    JsonNode node = JSON.readTree(json);
    if (node.path("format").asInt() != FORMAT) {
      throw new IOException("a list of prepared files has format " + node.path("format") + ", not " + FORMAT);
    }
    List<File> files = new ArrayList<>();
    for (JsonNode file : node.get("files")) {
      files.add(new File(
          file.get("partition").asInt(),
          file.get("name").asText(),
          file.get("records").asLong(),
          file.path("bytes").asLong(-1)));
    }
    return new PreparedList(node.get("epoch").asLong(), files);
  }
}
