package millstream.aggregate;

import static java.util.Map.entry;

import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/** The kinds of accumulators, by the names under which the lowering asks for them. */
public final class Accumulators {
  /** From the first field that feeds it, and that field's type. */
  private interface Make {
    Accumulator at(int input, DataType type);
  }

  private static final Map<String, Make> KINDS = Map.ofEntries(
      entry("count", (at, type) -> new Count(at)),
      entry("plain_sum", (at, type) -> new PlainSum(at, type.equals(DataTypes.DoubleType))),
      entry("sum_long", (at, type) -> new SumLong(at)),
      entry("sum_wide", (at, type) -> new SumWide(at)),
      entry("sum_double", (at, type) -> new SumDouble(at)),
      entry("sum_decimal", SumDecimal::new),
      entry("squares", (at, type) -> new Squares(at)),
      entry("collect", Collect::new),
      entry("distinct", (at, type) -> new DistinctCount(at, type, false)),
      entry("distinct_retractable", (at, type) -> new DistinctCount(at, type, true)),
      entry("min", (at, type) -> new Extreme(at, type, false)),
      entry("max", (at, type) -> new Extreme(at, type, true)),
      entry("min_retractable", (at, type) -> new RetractableExtreme(at, type, false)),
      entry("max_retractable", (at, type) -> new RetractableExtreme(at, type, true)));

  private Accumulators() {}

  /**
   * An accumulator that is asked for.
   *
   * @param field the first of the payload's fields that feed it
   */
  public record Told(String kind, String field) {}

  public static Accumulator[] of(List<Told> wanted, StructType payload) {
    Accumulator[] accumulators = new Accumulator[wanted.size()];
    for (int i = 0; i < accumulators.length; i++) {
      Told told = wanted.get(i);
      Make make = KINDS.get(told.kind());
      if (make == null) {
        throw new IllegalArgumentException("no accumulator of kind " + told.kind());
      }
      int at = payload.fieldIndex(told.field());
      accumulators[i] = make.at(at, payload.fields()[at].dataType());
    }
    return accumulators;
  }

  /** All kinds that there are. */
  public static Set<String> kinds() {
    return KINDS.keySet();
  }
}
