package millstream.kafka;

import java.io.IOException;
import java.util.HashMap;
import java.util.Map;
import java.util.function.Supplier;
import millstream.sink.Committer;
import millstream.sink.SinkKind;
import millstream.sink.SinkSpec;
import millstream.sink.TaskWriter;

/**
 * Sinks that are topics of Kafka. A task writes its rows of an epoch in one transaction; it stays open until the epoch
 * is committed, and then the driver commits it by its producer's id and epoch, after a crash as well as before.
 */
public final class KafkaSink implements SinkKind {
  private static final String CLIENT = "kafka.";
  private static final int TURNS = 3;

  @Override
  public TaskWriter writer(SinkSpec spec, TaskId task) throws IOException {
    return new KafkaWriter(spec, task);
  }

  @Override
  public Committer committer(SinkSpec spec) {
    return new KafkaCommitter(spec);
  }

  /** A transactional id serves one epoch after the other. */
  @Override
  public boolean publishesBeforeNext() {
    return true;
  }

  /** Where two epochs of a task overlap, three ids take turns: one is written, one committed, one made ready. */
  static String transactionalId(SinkSpec spec, TaskId task) {
    String turn = task.flowing() ? "-" + task.epoch() % TURNS : "";
    return prefix(spec) + task.task() + turn;
  }

  /** The unique beginning of a sink's transactional ids. */
  static String prefix(SinkSpec spec) {
    return spec.writer() + "-";
  }

  /** The context's class loader is Spark's: it need not be the one that has Kafka's classes. */
  static <T> T withOwnClasses(Supplier<T> make) {
    Thread thread = Thread.currentThread();
    ClassLoader before = thread.getContextClassLoader();
    thread.setContextClassLoader(KafkaSink.class.getClassLoader());
    try {
      return make.get();
    } finally {
      thread.setContextClassLoader(before);
    }
  }

  /** The settings for Kafka's clients. */
  static Map<String, Object> client(SinkSpec spec) {
    Map<String, Object> settings = new HashMap<>();
    spec.settings().forEach((name, value) -> {
      if (name.startsWith(CLIENT)) {
        settings.put(name.substring(CLIENT.length()), value);
      }
    });
    return settings;
  }
}
