package millstream.stage;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.util.LongAccumulator;

/** Counts rows that came too late to be counted in, or have no time: never silently dropped. */
public final class Late {
  private static final Map<String, LongAccumulator> COUNTS = new ConcurrentHashMap<>();

  private Late() {}

  static LongAccumulator counter(SparkSession spark, String operator) {
    LongAccumulator count = spark.sparkContext().longAccumulator("late for " + operator);
    COUNTS.put(operator, count);
    return count;
  }

  /** How many rows came too late for an operator since its job started. */
  public static long count(String operator) {
    LongAccumulator count = COUNTS.get(operator);
    return count == null ? 0 : count.sum();
  }
}
