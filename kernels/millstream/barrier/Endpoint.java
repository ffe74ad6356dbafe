package millstream.barrier;

import java.util.HashMap;
import java.util.Map;
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

  private final RpcEnv env;
  private final ClassLoader classes;
  private final RpcEndpointRef own;
  private final Map<String, RpcCallContext> waiting = new HashMap<>();
  private final BlockingQueue<Ack> acks = new LinkedBlockingQueue<>();
  private final CountDownLatch first = new CountDownLatch(1);
  /** By accumulator, the greatest event time that any task has told of. */
  private final Map<Long, Long> times = new ConcurrentHashMap<>();

  private Barrier last;

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
    return new Messages(
        message -> ((Wire.Seen) message).times().forEach((id, time) -> times.merge(id, time, Math::max)));
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
