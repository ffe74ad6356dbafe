package millstream.rules;

import java.lang.reflect.Field;
import org.apache.spark.sql.catalyst.analysis.Analyzer;
import org.apache.spark.sql.catalyst.optimizer.Optimizer;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.internal.SessionState;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Lets a query be analysed and optimized in its first epoch only. Spark does so in every epoch, from scratch, though
 * nothing but offsets is new: with small epochs, the larger part of what the driver does. Nor does the plan go to tasks
 * as a whole ({@link OnDriver}).
 *
 * <p>Every query has a session of its own, which is where it is put.
 */
public final class PlannedOnce {
  private static final Logger LOG = LoggerFactory.getLogger(PlannedOnce.class);

  private PlannedOnce() {}

  /** To be done before the query's first epoch. A Spark that keeps these things elsewhere does as it always did. */
  public static void into(SparkSession ofQuery) {
    try {
      SessionState state = ofQuery.sessionState();
      Analyzer analyzer = state.analyzer(); // They are made when they are first asked for, and would be made again.
      Optimizer optimizer = state.optimizer();
      Field analyzers = field("analyzer");
      Field optimizers = field("optimizer");
      Field columnar = field("columnarRules");
      optimizers.set(state, new OptimizedOnce(optimizer, ofQuery));
      analyzers.set(state, new AnalysedOnce(analyzer));
      columnar.set(state, state.columnarRules().appended(new OnDriver.BelowStages()));
    } catch (ReflectiveOperationException | LinkageError error) {
      LOG.warn("every epoch is planned from scratch: this is not the Spark that is known", error);
    }
  }

  private static Field field(String name) throws ReflectiveOperationException {
    Field field = SessionState.class.getDeclaredField(name);
    field.setAccessible(true);
    return field;
  }
}
