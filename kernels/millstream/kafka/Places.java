package millstream.kafka;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.Serializable;
import java.util.Arrays;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.StreamSupport;

/** Where the records of a transaction are in their topic: by partition, runs of offsets. */
final class Places implements Serializable {
  private static final long serialVersionUID = 1L;

  private final TreeMap<Integer, Runs> byPartition = new TreeMap<>();

  /** The first offset of a run and its last one, both within, then those of the next run. */
  static final class Runs implements Serializable {
    private static final long serialVersionUID = 1L;
    private long[] bounds;
    private int size;

    Runs(long... bounds) {
      this.bounds = bounds;
      this.size = bounds.length;
    }

    private void add(long offset) {
      if (size > 0 && bounds[size - 1] + 1 == offset) {
        bounds[size - 1] = offset;
        return;
      }
      if (size + 2 > bounds.length) {
        bounds = Arrays.copyOf(bounds, Math.max(8, size * 2));
      }
      bounds[size++] = offset;
      bounds[size++] = offset;
    }

    boolean hold(long offset) {
      int found = Arrays.binarySearch(bounds, 0, size, offset);
      return found >= 0 || (-found - 1) % 2 == 1;
    }

    long records() {
      long sum = 0;
      for (int i = 0; i < size; i += 2) {
        sum += bounds[i + 1] - bounds[i] + 1;
      }
      return sum;
    }

    long[] bounds() {
      return Arrays.copyOf(bounds, size);
    }

    long first() {
      return bounds[0];
    }

    long last() {
      return bounds[size - 1];
    }
  }

  /** To be called in the order of a partition's offsets, as a producer's answers come. */
  void add(int partition, long offset) {
    byPartition.computeIfAbsent(partition, any -> new Runs()).add(offset);
  }

  ObjectNode json() {
    ObjectNode json = JsonNodeFactory.instance.objectNode();
    byPartition.forEach((partition, runs) -> {
      ArrayNode bounds = json.putArray(partition.toString());
      for (long bound : runs.bounds()) {
        bounds.add(bound);
      }
    });
    return json;
  }

  static Places parse(JsonNode json) {
    Places places = new Places();
    for (Map.Entry<String, JsonNode> part : json.properties()) {
      long[] bounds = StreamSupport.stream(part.getValue().spliterator(), false)
          .mapToLong(JsonNode::asLong)
          .toArray();
      places.byPartition.put(Integer.parseInt(part.getKey()), new Runs(bounds));
    }
    return places;
  }

  TreeMap<Integer, Runs> byPartition() {
    return byPartition;
  }

  long records() {
    return byPartition.values().stream().mapToLong(Runs::records).sum();
  }
}
