package millstream.stage;

import static java.util.Map.entry;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.Map;
import java.util.function.Function;

/**
 * Reads what a stage is to host, as the lowering wrote it:
 *
 * <pre>
 *   [{"kind": "aggregate", "name": …, "keys": [slots], "port": 0, "accumulators": [{"kind": "sum", "at": 1}, …]},
 *    {"kind": "join",      "name": …, "keys": [slots], "port": 1, "append_only": true}, …]
 * </pre>
 */
final class StageSpec {
  private static final Map<String, Function<OperatorSpec, Operator>> KINDS =
      Map.ofEntries(
          entry("aggregate", Aggregate::of),
          entry("collapse", Collapse::of),
          entry("join", Join::of),
          entry("latest", Latest::of),
          entry("top", Top::of),
          entry("pass", PassThrough::of),
          entry("sessions", Sessions::of),
          entry("process", Process::of));

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
      operators[i] = operator(new OperatorSpec(spec.get(i), layout));
    }
    return operators;
  }

  private static Operator operator(OperatorSpec spec) {
    String kind = spec.json().get("kind").asText();
    Function<OperatorSpec, Operator> make = KINDS.get(kind);
    if (make == null) {
      throw new IllegalArgumentException("no operator of kind " + kind);
    }
    return make.apply(spec);
  }
}
