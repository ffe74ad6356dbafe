package millstream.state;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.Encoder;
import org.apache.spark.sql.streaming.ListState;
import org.apache.spark.sql.streaming.MapState;
import org.apache.spark.sql.streaming.QueryInfo;
import org.apache.spark.sql.streaming.StatefulProcessorHandle;
import org.apache.spark.sql.streaming.TTLConfig;
import org.apache.spark.sql.streaming.ValueState;

/**
 * Records which state variables are declared, and gives none: so the shape of saved state follows from what kernels
 * really do.
 */
public final class Declared implements StatefulProcessorHandle {
  private static final long serialVersionUID = 1L;

  /**
   * A state variable.
   *
   * @param kind {@code value}, {@code list}, {@code map}, or {@code timers} by the clock
   * @param key the type of a map's keys; NULL of others
   */
  public record Variable(String name, String kind, String key, String value) {}

  private final List<Variable> found = new ArrayList<>();

  public List<Variable> variables() {
    return found;
  }

  /** Timers by the clock are kept beside Spark's own, which are declared for a whole stage. */
  static void clockTimers(StatefulProcessorHandle handle) {
    if (handle instanceof Declared declared) {
      declared.found.add(new Variable("clock", "timers", null, "bigint"));
    }
  }

  private static String type(Encoder<?> encoder) {
    return encoder.schema().catalogString();
  }

  @Override
  public <T> ValueState<T> getValueState(String name, Encoder<T> value, TTLConfig ttl) {
    found.add(new Variable(name, "value", null, type(value)));
    return null;
  }

  @Override
  public <T> ValueState<T> getValueState(String name, TTLConfig ttl, Encoder<T> value) {
    return getValueState(name, value, ttl);
  }

  @Override
  public <T> ListState<T> getListState(String name, Encoder<T> value, TTLConfig ttl) {
    found.add(new Variable(name, "list", null, type(value)));
    return null;
  }

  @Override
  public <T> ListState<T> getListState(String name, TTLConfig ttl, Encoder<T> value) {
    return getListState(name, value, ttl);
  }

  @Override
  public <K, V> MapState<K, V> getMapState(String name, Encoder<K> key, Encoder<V> value, TTLConfig ttl) {
    found.add(new Variable(name, "map", type(key), type(value)));
    return null;
  }

  @Override
  public <K, V> MapState<K, V> getMapState(String name, TTLConfig ttl, Encoder<K> key, Encoder<V> value) {
    return getMapState(name, key, value, ttl);
  }

  @Override
  public QueryInfo getQueryInfo() {
    throw notRunning();
  }

  @Override
  public void registerTimer(long at) {
    throw notRunning();
  }

  @Override
  public void deleteTimer(long at) {
    throw notRunning();
  }

  @Override
  public scala.collection.Iterator<Object> listTimers() {
    throw notRunning();
  }

  @Override
  public void deleteIfExists(String name) {
    throw notRunning();
  }

  private static UnsupportedOperationException notRunning() {
    return new UnsupportedOperationException("state is only declared here");
  }
}
