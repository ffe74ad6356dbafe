package millstream.python;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.util.LongAccumulator;

/** Counts the rows on which a user's Python code failed, in steps that skip them. */
public final class Skipped {
  private static final Map<String, LongAccumulator> COUNTS = new ConcurrentHashMap<>();

  private Skipped() {}

  public static LongAccumulator counter(SparkSession spark, String step) {
    LongAccumulator count = spark.sparkContext().longAccumulator("skipped by " + step);
    COUNTS.put(step, count);
    return count;
  }

  /** How many rows a step skipped since its job started. */
  public static long count(String step) {
    LongAccumulator count = COUNTS.get(step);
    return count == null ? 0 : count.sum();
  }
}
