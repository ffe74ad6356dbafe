package millstream.testing;

import java.util.concurrent.TimeoutException;
import millstream.sink.SinksProvider;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.streaming.StreamingQuery;
import org.apache.spark.sql.streaming.Trigger;
import org.apache.spark.util.Clock;
import scala.Option;
import scala.collection.immutable.Map;
import scala.collection.immutable.Map$;
import scala.jdk.javaapi.CollectionConverters;

/** Processing time as a test sets it: what {@code current_timestamp()} says, and what timers go by. */
public final class GivenClock implements Clock {
  private final Given given;

  private GivenClock(Given given) {
    this.given = given;
  }

  /** Starts a query as {@code writeStream.start()} does, but with the test's clock: Spark has no public way to. */
  public static StreamingQuery start(Dataset<Row> rows, String test, String name, String checkpoint, String sinks)
      throws TimeoutException {
    Map<String, String> options = Map$.MODULE$.from(
        CollectionConverters.asScala(java.util.Map.of("sinks", sinks, "checkpointLocation", checkpoint)));
    return rows.sparkSession()
        .streams()
        .startQuery(
            Option.apply(name),
            Option.empty(),
            Option.apply(checkpoint),
            rows,
            options,
            new SinksProvider().getTable(null, null, null),
            OutputMode.Update(),
            false,
            true,
            Trigger.AvailableNow(),
            new GivenClock(Given.of(test)),
            Option.empty(),
            Option.empty());
  }

  @Override
  public long getTimeMillis() {
    return given.now();
  }

  @Override
  public long nanoTime() {
    return System.nanoTime();
  }

  @Override
  public long waitTillTime(long time) {
    return given.now();
  }
}
