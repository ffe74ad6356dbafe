package millstream.stage;

import static java.util.Map.entry;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.Map;
import java.util.function.Function;
import org.apache.spark.sql.SparkSession;

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
          entry("as_of", AsOf::of),
          entry("collapse", Collapse::of),
          entry("counted_join", CountedJoin::of),
          entry("dedup", DedupFirst::of),
          entry("dedup_last", DedupLast::of),
          entry("expire", Expire::of),
          entry("enrich", Enrich::of),
          entry("hopping", Hopping::of),
          entry("join", Join::of),
          entry("late", LateRows::of),
          entry("latest", Latest::of),
          entry("top", Top::of),
          entry("pass", PassThrough::of),
          entry("sessions", Sessions::of),
          entry("process", Process::of));

  private StageSpec() {}

  static Operator[] operators(String json, Layout layout, SparkSession spark) {
    JsonNode spec;
    try {
      spec = new ObjectMapper().readTree(json);
    } catch (JsonProcessingException error) {
      throw new IllegalArgumentException("a stage's specification is not JSON: " + json, error);
    }
    Operator[] operators = new Operator[spec.size()];
    for (int i = 0; i < operators.length; i++) {
      operators[i] = operator(new OperatorSpec(spec.get(i), layout, spark));
    }
    return operators;
  }

  private static Operator operator(OperatorSpec spec) {
    String kind = spec.json().get("kind").asText();
    Function<OperatorSpec, Operator> make = KINDS.get(kind);
    if (make == null) {
      throw new IllegalArgumentException("no operator of kind " + kind);
    }
    Operator made = make.apply(spec);
    made.follows = spec.flag("follows");
    return made;
  }
}
