package millstream.kafka;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.List;
import millstream.sink.TaskWriter;

/** An open transaction with all its records at the brokers: this is all it takes to end it, or to write it again. */
record PreparedTransaction(String id, long producerId, short producerEpoch, Places places)
    implements TaskWriter.Prepared {
  static ObjectNode json(List<PreparedTransaction> all) {
    ObjectNode json = JsonNodeFactory.instance.objectNode();
    ArrayNode list = json.putArray("transactions");
    all.forEach(one -> one.json(list.addObject()));
    return json;
  }

  private void json(ObjectNode to) {
    to.put("id", id).put("producer", producerId).put("epoch", producerEpoch).set("places", places.json());
  }

  static List<PreparedTransaction> parse(JsonNode json) {
    List<PreparedTransaction> found = new ArrayList<>();
    for (JsonNode one : json.get("transactions")) {
      found.add(new PreparedTransaction(
          one.get("id").asText(),
          one.get("producer").asLong(),
          (short) one.get("epoch").asInt(),
          Places.parse(one.get("places"))));
    }
    return found;
  }
}
