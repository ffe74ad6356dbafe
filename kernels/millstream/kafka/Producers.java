package millstream.kafka;

import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import millstream.sink.SinkKind;
import millstream.sink.SinkSpec;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * The producers of this executor, kept from epoch to epoch: connecting again takes longer than writing a small epoch.
 */
final class Producers {
  private static final Map<String, TransactionalProducer> IDLE = new ConcurrentHashMap<>();
  private static final Duration KEEP = Duration.ofMinutes(10);
  private static final int ABORT_SECONDS = 2;

  /** Those that are made ready for their next turn, by id. */
  private static final Map<String, Future<?>> READYING = new ConcurrentHashMap<>();

  private static final ExecutorService BESIDE = Executors.newCachedThreadPool(work -> {
    Thread thread = new Thread(work, "millstream kafka");
    thread.setDaemon(true);
    return thread;
  });

  private Producers() {}

  /** A producer that has no transaction open. A new one fences the earlier holder of the id. */
  static TransactionalProducer take(SinkSpec spec, SinkKind.TaskId task) {
    closeForgotten();
    String id = KafkaSink.transactionalId(spec, task);
    await(READYING.remove(id));
    TransactionalProducer kept = IDLE.remove(id);
    if (kept != null) {
      try {
        // One of an earlier run may be fenced, and would only find out with its first row.
        if (kept.tenure() == task.tenure() && kept.settle(task.published())) {
          return kept;
        }
      } catch (KafkaException e) {
        // Another executor has had the id in between.
      }
      kept.close();
    }
    return connect(spec, id, task.tenure(), task.each());
  }

  /**
   * Where epochs overlap: lets the producer that has the next turn learn, beside the task, that its last transaction is
   * committed. Otherwise the next epoch's first row would wait for the brokers' answer, and all rows behind it.
   */
  static void readyNext(SinkSpec spec, SinkKind.TaskId task) {
    if (task.flowing()) {
      String id = KafkaSink.transactionalId(spec, task.next());
      READYING.put(id, BESIDE.submit(() -> ready(id, task.published())));
    }
  }

  /** Does not connect again here: for a run that is over, that would fence the run that took its place. */
  private static void ready(String id, long published) {
    TransactionalProducer kept = IDLE.remove(id);
    if (kept == null) {
      return;
    }
    try {
      kept.settle(published);
      giveBack(kept);
    } catch (KafkaException e) {
      kept.close();
    }
  }

  private static void await(Future<?> ready) {
    try {
      if (ready != null) {
        ready.get();
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } catch (ExecutionException e) {
      throw new IllegalStateException(e.getCause());
    }
  }

  static TransactionalProducer connect(SinkSpec spec, String id, long tenure, boolean each) {
    Map<String, Object> settings = new HashMap<>();
    settings.put("linger.ms", each ? "0" : "20");
    settings.put("batch.size", "131072");
    settings.putAll(KafkaSink.client(spec));
    settings.put("transactional.id", id);
    KafkaProducer<byte[], byte[]> client = KafkaSink.withOwnClasses(
        () -> new KafkaProducer<>(settings, new ByteArraySerializer(), new ByteArraySerializer()));
    try {
      client.initTransactions();
    } catch (KafkaException e) {
      client.close(Duration.ZERO);
      throw e;
    }
    return new TransactionalProducer(id, tenure, client);
  }

  static void giveBack(TransactionalProducer producer) {
    TransactionalProducer other = IDLE.put(producer.id(), producer);
    if (other != null) {
      other.close();
    }
  }

  /**
   * Not to be used again: when an epoch fails, every holder of an id of the sink is fenced. It does not wait for long,
   * and nor does the run, which is about to start again: what it leaves open is found and ended then.
   */
  static void abort(TransactionalProducer producer) {
    Future<?> aborted = BESIDE.submit(producer::aborted);
    try {
      aborted.get(ABORT_SECONDS, TimeUnit.SECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } catch (ExecutionException | TimeoutException e) {
      // The brokers do not answer, or another producer has the id by now.
    } finally {
      producer.close();
    }
  }

  /** Of a run that is over. */
  static void close(String prefix) {
    for (String id : READYING.keySet()) {
      if (id.startsWith(prefix)) {
        await(READYING.remove(id));
      }
    }
    for (String id : IDLE.keySet()) {
      if (id.startsWith(prefix)) {
        TransactionalProducer producer = IDLE.remove(id);
        if (producer != null) {
          producer.close();
        }
      }
    }
  }

  private static void closeForgotten() {
    for (Map.Entry<String, TransactionalProducer> entry : IDLE.entrySet()) {
      if (entry.getValue().idle().compareTo(KEEP) > 0 && IDLE.remove(entry.getKey(), entry.getValue())) {
        entry.getValue().close();
      }
    }
  }
}
