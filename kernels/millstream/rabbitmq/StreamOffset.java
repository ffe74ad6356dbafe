package millstream.rabbitmq;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.type.TypeReference;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.Map;
import java.util.TreeMap;
import org.apache.spark.sql.connector.read.streaming.Offset;
import org.apache.spark.sql.connector.read.streaming.PartitionOffset;

/** The next offset of every stream: {@code {"orders-0":12,"orders-1":7}}. */
final class StreamOffset extends Offset {
  private static final ObjectMapper JSON = new ObjectMapper();

  private final TreeMap<String, Long> next;

  StreamOffset(Map<String, Long> next) {
    this.next = new TreeMap<>(next);
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

  /** A stream that is not named was added since: it is read from its first record. */
  long of(String stream) {
    return next.getOrDefault(stream, 0L);
  }

  boolean names(String stream) {
    return next.containsKey(stream);
  }

  Map<String, Long> byStream() {
    return next;
  }

  @Override
  public String json() {
    try {
      return JSON.writeValueAsString(next);
    } catch (JsonProcessingException e) {
      throw new IllegalStateException(e);
    }
  }
}
