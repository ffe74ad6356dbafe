package millstream.stage;

import com.fasterxml.jackson.databind.JsonNode;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/** What one operator of a stage is told: its name, where its key and its inputs stand, and details of its own. */
record OperatorSpec(JsonNode json, Layout layout, SparkSession spark) {
  String name() {
    return json.get("name").asText();
  }

  /** The payload column of its first input; the others follow. */
  int port() {
    return json.get("port").asInt();
  }

  /** The type of an input's rows. */
  StructType input(int side) {
    return layout.payloadType(port() + side);
  }

  /** Whether all that reads it upserts by its key. */
  boolean upserts() {
    return flag("upserts");
  }

  boolean flag(String what) {
    return json.path(what).asBoolean();
  }

  /** The condition that it was given, on rows of a type; NULL: none. */
  Condition condition(StructType type) {
    return json.hasNonNull("condition") ? Condition.of(spark, json.get("condition").asText(), type) : null;
  }

  /** Where its key columns stand in the stage's key. */
  int[] keySlots() {
    return numbers("keys");
  }

  int[] numbers(String what) {
    JsonNode listed = json.path(what);
    int[] found = new int[listed.size()];
    for (int i = 0; i < found.length; i++) {
      found[i] = listed.get(i).asInt();
    }
    return found;
  }

  StructField[] keys() {
    int[] slots = keySlots();
    StructField[] found = new StructField[slots.length];
    for (int i = 0; i < found.length; i++) {
      found[i] = layout.schema.fields()[slots[i]];
    }
    return found;
  }
}
