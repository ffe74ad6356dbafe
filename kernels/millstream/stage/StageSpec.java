package millstream.stage;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/**
 * Reads what a stage is to host, as the lowering wrote it:
 *
 * <pre>
 *   [{"kind": "aggregate", "name": …, "keys": [slots], "port": 0, "accumulators": [{"kind": "sum", "at": 1}, …]},
 *    {"kind": "join",      "name": …, "port": 1, "append_only": true},
 *    {"kind": "latest",    "name": …, "port": 3},
 *    {"kind": "collapse",  "name": …, "port": 4},
 *    {"kind": "pass",      "name": …, "port": 5}]
 * </pre>
 */
final class StageSpec {
  private StageSpec() {}

  static Operator[] operators(String json, Layout layout) {
    JsonNode spec;
    try {
      spec = new ObjectMapper().readTree(json);
    } catch (JsonProcessingException error) {
      throw new IllegalArgumentException("a stage's specification is not JSON: " + json, error);
    }
    Operator[] operators = new Operator[spec.size()];
    for (int i = 0; i < operators.length; i++) {
      operators[i] = operator(spec.get(i), layout);
    }
    return operators;
  }

  private static Operator operator(JsonNode spec, Layout layout) {
    String name = spec.get("name").asText();
    int port = spec.get("port").asInt();
    StructType payload = layout.payloadType(port);
    boolean upserts = upserts(spec);
    String kind = spec.get("kind").asText();
    switch (kind) {
      case "aggregate":
        return aggregate(name, spec, layout, payload);
      case "join":
        boolean appendOnly = spec.get("append_only").asBoolean();
        return new Join(name, payload, layout.payloadType(port + 1), port, appendOnly);
      case "latest":
        return new Latest(name, upserts, payload);
      case "collapse":
        return new Collapse(name, upserts, payload);
      case "pass":
        return new PassThrough(name, payload);
      default:
        throw new IllegalArgumentException("no operator of kind " + kind);
    }
  }

  private static Aggregate.Closing closing(JsonNode spec) {
    if (spec == null) {
      return null;
    }
    return new Aggregate.Closing(
        spec.get("key").asInt(), spec.get("allowed_ms").asLong(), spec.get("final").asBoolean());
  }

  private static boolean upserts(JsonNode spec) {
    return spec.path("upserts").asBoolean();
  }

  private static Operator aggregate(String name, JsonNode spec, Layout layout, StructType payload) {
    JsonNode slots = spec.get("keys");
    StructField[] keys = new StructField[slots.size()];
    int[] keySlots = new int[keys.length];
    for (int i = 0; i < keys.length; i++) {
      keySlots[i] = slots.get(i).asInt();
      keys[i] = layout.schema.fields()[keySlots[i]];
    }
    JsonNode list = spec.get("accumulators");
    Accumulator[] accumulators = new Accumulator[list.size()];
    for (int i = 0; i < accumulators.length; i++) {
      int at = list.get(i).get("at").asInt();
      accumulators[i] = accumulator(list.get(i).get("kind").asText(), at, payload.fields()[at].dataType());
    }
    return new Aggregate(name, upserts(spec), keys, keySlots, accumulators, closing(spec.get("closing")));
  }

  private static Accumulator accumulator(String kind, int at, DataType type) {
    switch (kind) {
      case "count":
        return new Count(at);
      case "plain_sum":
        return new PlainSum(at, type.equals(DataTypes.DoubleType));
      case "sum_long":
        return new SumLong(at);
      case "sum_double":
        return new SumDouble(at);
      case "sum_decimal":
        return new SumDecimal(at, type);
      case "min":
      case "max":
        return new Extreme(at, type, kind.equals("max"));
      case "min_retractable":
      case "max_retractable":
        return new RetractableExtreme(at, type, kind.startsWith("max"));
      default:
        throw new IllegalArgumentException("no accumulator of kind " + kind);
    }
  }
}
