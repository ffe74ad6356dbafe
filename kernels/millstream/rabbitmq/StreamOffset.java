package millstream.rabbitmq;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.type.TypeReference;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.Map;
import java.util.TreeMap;
import millstream.journal.LogOffset;
import org.apache.spark.sql.connector.read.streaming.PartitionOffset;

/** The next offset of every stream: {@code {"orders-0":12,"orders-1":7}}. */
final class StreamOffset extends LogOffset<String> {
  private static final ObjectMapper JSON = new ObjectMapper();

  StreamOffset(Map<String, Long> next) {
    super(next);
  }

  /** Where a real-time task stopped. */
  record OfStream(String stream, long next) implements PartitionOffset {}

  static StreamOffset parse(String text) {
    try {
      return new StreamOffset(JSON.readValue(text, new TypeReference<TreeMap<String, Long>>() {}));
    } catch (JsonProcessingException e) {
      throw RabbitException.notOffsets(text);
    }
  }

  @Override
  public String json() {
    try {
      return JSON.writeValueAsString(byPart());
    } catch (JsonProcessingException e) {
      throw new IllegalStateException(e);
    }
  }
}
