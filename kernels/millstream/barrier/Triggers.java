package millstream.barrier;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import org.apache.spark.SparkEnv;
import org.apache.spark.rpc.RpcEndpointRef;
import org.apache.spark.rpc.RpcTimeout;
import org.apache.spark.rpc.RpcTimeoutException;
import org.apache.spark.util.RpcUtils;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import scala.concurrent.duration.FiniteDuration;
import scala.reflect.ClassTag;
import scala.reflect.ClassTag$;

/** On an executor, for all tasks of a run: receives the next barrier from the driver, and sends reports to it. */
final class Triggers {
  private static final Logger LOG = LoggerFactory.getLogger(Triggers.class);
  private static final Map<String, Triggers> RUNNING = new ConcurrentHashMap<>();
  private static final ClassTag<byte[]> BYTES = ClassTag$.MODULE$.apply(byte[].class);
  private static final RpcTimeout PATIENCE = new RpcTimeout(new FiniteDuration(30, TimeUnit.SECONDS), "barriers");
  private static final ScheduledExecutorService WATCH = Executors.newSingleThreadScheduledExecutor(work -> {
    Thread thread = new Thread(work, "millstream watch");
    thread.setDaemon(true);
    return thread;
  });

  private final String run;
  private final RpcEndpointRef driver;
  private final Thread thread;
  private final ScheduledFuture<?> watch;
  private int tasks;

  /** The last that has begun; NULL: none has. */
  private volatile Barrier last;

  private Triggers(String run) {
    this.run = run;
    SparkEnv env = SparkEnv.get();
    driver = RpcUtils.makeDriverRef(run, env.conf(), env.rpcEnv());
    thread = new Thread(this::listen, "millstream barriers");
    thread.setDaemon(true);
    thread.start();
    watch = WATCH.scheduleWithFixedDelay(this::watch, 1, 1, TimeUnit.SECONDS);
  }

  /** A task of the run begins. */
  static Triggers join(String run) {
    return RUNNING.compute(run, (name, there) -> {
      Triggers joined = there == null ? new Triggers(name) : there;
      joined.tasks++;
      return joined;
    });
  }

  /** A task ends; after the last one there are no listeners. */
  void leave() {
    RUNNING.computeIfPresent(run, (name, there) -> {
      if (--tasks > 0) {
        return there;
      }
      thread.interrupt();
      watch.cancel(false);
      return null;
    });
  }

  /** Reports which step holds a barrier up; nothing else can tell, because the step does not return. */
  private void watch() {
    long now = System.nanoTime();
    for (TaskBarriers.Busy work : TaskBarriers.busyIn(this)) {
      long seconds = TimeUnit.NANOSECONDS.toSeconds(now - work.since());
      if (seconds > 0) {
        driver.send(Wire.bytes(new Wire.Working(work.step(), seconds)));
      }
    }
  }

  Barrier last() {
    return last;
  }

  private void listen() {
    String executor = SparkEnv.get().executorId();
    while (!Thread.currentThread().isInterrupted()) {
      try {
        long known = last == null ? -1 : last.number();
        byte[] answer = driver.askSync(Wire.bytes(new Wire.Await(executor, known)), PATIENCE, BYTES);
        last = (Barrier) Wire.read(answer, Triggers.class.getClassLoader());
      } catch (Exception error) {
        // Scala throws checked exceptions that Java does not know about.
        if (!((Throwable) error instanceof RpcTimeoutException)) {
          LOG.debug("no more barriers come: {}", error.toString());
          return;
        }
      }
    }
  }

  /** On any thread. */
  void report(Ack ack) {
    driver.askSync(Wire.bytes(ack), PATIENCE, BYTES);
  }

  /** If it is lost, the next one says the same and more. */
  void tell(Wire.Seen seen) {
    driver.send(Wire.bytes(seen));
  }
}
