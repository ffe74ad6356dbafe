package millstream.state;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeMap;
import java.util.TreeSet;
import millstream.Seeds;
import millstream.row.InternalRowEncoder;
import millstream.row.Rows;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.encoders.ExpressionEncoder;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.statefulprocessor.ImplicitGroupingKeyTracker;
import org.apache.spark.sql.execution.streaming.state.StateStore;
import org.apache.spark.sql.execution.streaming.state.StateStoreIterator;
import org.apache.spark.sql.execution.streaming.state.UnsafeRowPair;
import org.apache.spark.sql.streaming.TimeMode;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.ByteArray;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import scala.Option;
import scala.Tuple2;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.BoxedUnit;

final class TimersTest {
  private static final StructType KEY = new StructType().add("user", "string");

  private record Timer(long at, String user) implements Comparable<Timer> {
    @Override
    public int compareTo(Timer other) {
      return at == other.at ? user.compareTo(other.user) : Long.compare(at, other.at);
    }
  }

  /** What timers use of a store: rows in the order of their time, which is their first column. */
  private static final class Store implements InvocationHandler {
    private final TreeMap<UnsafeRow, UnsafeRow> rows = new TreeMap<>((one, other) -> one.getLong(0) == other.getLong(0)
        ? ByteArray.compareBinary(one.getBytes(), other.getBytes())
        : Long.compare(one.getLong(0), other.getLong(0)));

    @Override
    public Object invoke(Object proxy, java.lang.reflect.Method method, Object[] arguments) throws Throwable {
      return switch (method.getName()) {
        case "put" -> rows.put(((UnsafeRow) arguments[0]).copy(), ((UnsafeRow) arguments[1]).copy());
        case "remove" -> rows.remove(arguments[0]);
        case "iterator", "rangeScan" -> pairs();
        case "createColFamilyIfAbsent" -> null;
        default -> {
          if (!method.isDefault()) {
            throw new UnsupportedOperationException(method.getName());
          }
          yield InvocationHandler.invokeDefault(proxy, method, arguments);
        }
      };
    }

    private StateStoreIterator<UnsafeRowPair> pairs() {
      List<UnsafeRowPair> found = new ArrayList<>();
      rows.forEach((key, value) -> found.add(new UnsafeRowPair(key, value)));
      return new StateStoreIterator<>(CollectionConverters.asScala(found.iterator()), () -> BoxedUnit.UNIT);
    }
  }

  private final Store rows = new Store();

  @SuppressWarnings("unchecked") // Keys are rows, which Spark takes as objects.
  private Timers timers() {
    StateStore store =
        (StateStore) Proxy.newProxyInstance(StateStore.class.getClassLoader(), new Class<?>[] {StateStore.class}, rows);
    ExpressionEncoder<InternalRow> keys = ExpressionEncoder.apply(new InternalRowEncoder(KEY));
    return new Timers(store, TimeMode.EventTime(), (ExpressionEncoder<Object>)
        (ExpressionEncoder<?>) keys.resolveAndBind(keys.resolveAndBind$default$1(), keys.resolveAndBind$default$2()));
  }

  private static void key(String user) {
    ImplicitGroupingKeyTracker.setImplicitKey(Rows.of(KEY, user));
  }

  @AfterEach
  void noKey() {
    ImplicitGroupingKeyTracker.removeImplicitKey();
  }

  private static List<Timer> due(Timers timers, long watermark) {
    List<Timer> found = new ArrayList<>();
    CollectionConverters.asJava(timers.getExpiredTimers(watermark, Option.empty()))
        .forEachRemaining((Tuple2<Object, Object> timer) ->
            found.add(new Timer((Long) timer._2(), ((InternalRow) timer._1()).getString(0))));
    return found;
  }

  @Test
  void ringInOrderOnceForEveryKeyAndTime() {
    Seeds.each(random -> {
      Timers timers = timers();
      rows.rows.clear();
      TreeSet<Timer> wanted = new TreeSet<>();
      for (long watermark = 0; watermark < 500; watermark += random.nextInt(10)) {
        for (int i = 0; i < 5; i++) {
          Timer timer = new Timer(random.nextInt(600), "user " + random.nextInt(5));
          key(timer.user);
          if (random.nextInt(4) == 0) {
            timers.deleteTimer(timer.at);
            wanted.remove(timer);
          } else {
            timers.registerTimer(timer.at);
            wanted.add(timer);
          }
        }
        List<Timer> rung = due(timers, watermark);
        assertEquals(List.copyOf(wanted.headSet(new Timer(watermark + 1, ""))), rung);
        for (Timer timer : rung) {
          key(timer.user);
          timers.deleteTimer(timer.at);
          wanted.remove(timer);
        }
      }
    });
  }

  @Test
  void areKeptOnce() {
    Timers timers = timers();
    key("Ada");
    timers.registerTimer(5);
    timers.registerTimer(5);
    assertEquals(1, rows.rows.size());
    assertThrows(UnsupportedOperationException.class, timers::listTimers);
  }
}
