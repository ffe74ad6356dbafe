package millstream.barrier;

import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.function.Consumer;
import org.apache.spark.rpc.RpcCallContext;
import org.apache.spark.rpc.RpcEndpointRef;
import org.apache.spark.rpc.RpcEnv;
import org.apache.spark.rpc.ThreadSafeRpcEndpoint;
import scala.Function1;
import scala.PartialFunction;
import scala.runtime.AbstractPartialFunction;
import scala.runtime.BoxedUnit;

/** On the driver: where executors wait for barriers, and tasks report. */
final class Endpoint implements ThreadSafeRpcEndpoint, AutoCloseable {
  private static final byte[] HEARD = {};
  private static final long FRESH_NANOS = 1_000_000_000;
  /** It is reported every second, as long as it lasts. */
  private static final long RECENT_NANOS = 3_000_000_000L;

  private final RpcEnv env;
  private final ClassLoader classes;
  private final RpcEndpointRef own;
  private final Map<String, RpcCallContext> waiting = new HashMap<>();
  private final BlockingQueue<Ack> acks = new LinkedBlockingQueue<>();
  private final CountDownLatch first = new CountDownLatch(1);
  /** By accumulator, the greatest event time that any task has reported. */
  private final Map<Long, Long> times = new ConcurrentHashMap<>();

  /** By source and its partition. */
  private final Map<String, Map<Integer, Quiet>> quiet = new ConcurrentHashMap<>();

  /** By step, when its running code was last reported, and the report. */
  private final Map<String, Told> working = new ConcurrentHashMap<>();

  private record Told(long at, long seconds) {}

  private Barrier last;

  /** For how long there was no row, and when that was reported. */
  private record Quiet(long millis, long heard) {}

  Endpoint(RpcEnv env, String name, ClassLoader classes) {
    this.env = env;
    this.classes = classes;
    own = env.setupEndpoint(name, this);
  }

  @Override
  public RpcEnv rpcEnv() {
    return env;
  }

  /** Open when the first task of the run has begun. */
  CountDownLatch first() {
    return first;
  }

  Map<Long, Long> times() {
    return times;
  }

  /**
   * For how many milliseconds no partition of a source has had a row; NULL: not all tasks have reported lately, so rows
   * may be waiting for one that is held up.
   */
  Long quiet(String source, int partitions) {
    long now = System.nanoTime();
    long[] fresh = quiet.getOrDefault(source, Map.of()).values().stream()
        .filter(told -> now - told.heard < FRESH_NANOS)
        .mapToLong(Quiet::millis)
        .toArray();
    return fresh.length < partitions ? null : Arrays.stream(fresh).min().orElseThrow();
  }

  BlockingQueue<Ack> acks() {
    return acks;
  }

  synchronized void trigger(Barrier barrier) {
    last = barrier;
    waiting.values().forEach(this::answer);
    waiting.clear();
  }

  private void answer(RpcCallContext executor) {
    executor.reply(Wire.bytes(last));
  }

  private synchronized void heard(Object message, RpcCallContext from) {
    if (message instanceof Ack ack) {
      acks.add(ack);
      from.reply(HEARD);
    } else if (message instanceof Wire.Await await) {
      first.countDown();
      if (last != null && last.number() > await.last()) {
        answer(from);
      } else {
        waiting.put(await.executor(), from);
      }
    }
  }

  @Override
  public PartialFunction<Object, BoxedUnit> receiveAndReply(RpcCallContext context) {
    return new Messages(message -> heard(message, context));
  }

  @Override
  public PartialFunction<Object, BoxedUnit> receive() {
    return new Messages(this::told);
  }

  private void told(Object message) {
    if (message instanceof Wire.Working work) {
      working.put(work.step(), new Told(System.nanoTime(), work.seconds()));
    } else {
      seen((Wire.Seen) message);
    }
  }

  private void seen(Wire.Seen seen) {
    seen.times().forEach((id, time) -> times.merge(id, time, Math::max));
    quiet
        .computeIfAbsent(seen.source(), source -> new ConcurrentHashMap<>())
        .put(seen.partition(), new Quiet(seen.quiet(), System.nanoTime()));
  }

  /** The steps whose code does not return, and for how many seconds it has not. */
  Map<String, Long> working() {
    long now = System.nanoTime();
    Map<String, Long> found = new TreeMap<>();
    working.forEach((step, told) -> {
      if (now - told.at < RECENT_NANOS) {
        found.put(step, told.seconds);
      }
    });
    return found;
  }

  private final class Messages extends AbstractPartialFunction<Object, BoxedUnit> {
    private final Consumer<Object> act;

    Messages(Consumer<Object> act) {
      this.act = act;
    }

    @Override
    public boolean isDefinedAt(Object message) {
      return message instanceof byte[];
    }

    @Override
    @SuppressWarnings("unchecked")
    public <A extends Object, B> B applyOrElse(A message, Function1<A, B> otherwise) {
      act.accept(Wire.read((byte[]) (Object) message, classes));
      return (B) BoxedUnit.UNIT;
    }
  }

  @Override
  public void close() {
    env.stop(own);
  }
}
