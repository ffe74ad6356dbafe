package millstream.save;

import com.fasterxml.jackson.core.type.TypeReference;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.util.List;

/**
 * A list of an operator's state that is to be saved: one of its state variables, or its timers.
 *
 * @param stage as Spark counts them, from the last one
 * @param operator the operator's name
 * @param name of the list
 * @param family the column family that holds it
 * @param kind {@code value}, {@code list}, {@code map} or {@code timers}
 * @param tag whose rows they are, in a family that several operators share; NULL: all are this operator's
 * @param keys where the operator's own key columns are in the stage's key, and their names
 * @param folder where its files go
 */
record ListSpec(
    int stage, String operator, String name, String family, String kind, Integer tag, List<Key> keys, String folder) {
  record Key(int at, String name) {}

  private static final ObjectMapper JSON = new ObjectMapper();

  static List<ListSpec> parse(String json) throws IOException {
    return JSON.readValue(json, new TypeReference<>() {});
  }
}
