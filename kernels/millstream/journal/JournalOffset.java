package millstream.journal;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.Map;
import java.util.TreeMap;
import org.apache.spark.sql.connector.read.streaming.PartitionOffset;

/** The next offset of every partition: {@code {"0": 12, "1": 7}}. */
final class JournalOffset extends LogOffset<Integer> {
  private static final ObjectMapper JSON = new ObjectMapper();

  JournalOffset(Map<Integer, Long> next) {
    super(next);
  }

  /** Where a real-time task stopped. */
  record OfPartition(int partition, long next) implements PartitionOffset {}

  static JournalOffset parse(String option, String text) {
    TreeMap<Integer, Long> next = new TreeMap<>();
    try {
      JsonNode json = JSON.readTree(text);
      if (json == null || !json.isObject()) {
        throw JournalException.notOffsets(option, text);
      }
      for (Map.Entry<String, JsonNode> field : json.properties()) {
        if (!field.getValue().isIntegralNumber()) {
          throw JournalException.notOffsets(option, text);
        }
        next.put(Integer.parseInt(field.getKey()), field.getValue().asLong());
      }
    } catch (JsonProcessingException | NumberFormatException e) {
      throw JournalException.notOffsets(option, text);
    }
    return new JournalOffset(next);
  }

  @Override
  public String json() {
    StringBuilder text = new StringBuilder("{");
    byPart().forEach((partition, offset) -> text.append(text.length() > 1 ? ", " : "")
        .append('"')
        .append(partition)
        .append("\": ")
        .append(offset));
    return text.append("}").toString();
  }
}
