package millstream.stage;

import java.io.Serializable;
import millstream.metrics.Meters;
import millstream.metrics.Tap;
import millstream.operator.Operator;
import millstream.row.Change;
import millstream.row.Image;
import org.apache.spark.sql.SparkSession;

/** Where people may look at what an operator sends on: with the columns that its readers see. */
record Shown(Tap tap, Image image) implements Serializable {
  /** Null: they may not, or its rows cannot be shown. To look at rows must not end a run. */
  static Shown of(Operator operator, String sql, Meters meters, SparkSession spark) {
    try {
      Image image = Image.of(spark, sql, operator.outputType());
      Tap tap = meters.operatorTap(operator.name, image.type());
      return tap == null ? null : new Shown(tap, image);
    } catch (Exception notShown) {
      return null;
    }
  }

  void see(Change change) {
    if (tap.wants()) {
      tap.keep(image.seen(change.row()), change.weight());
    }
  }
}
