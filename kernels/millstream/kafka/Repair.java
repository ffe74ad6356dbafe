package millstream.kafka;

import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import millstream.sink.SinkSpec;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetOutOfRangeException;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * Kafka aborts a transaction that was open for too long. Its records are still in the topic, where only readers of
 * uncommitted rows see them: from there they are copied into a new transaction.
 */
final class Repair implements AutoCloseable {
  private static final long PATIENCE_MILLIS = 60_000;

  /** No run's: its producer is not kept. */
  private static final long OWN = -1;

  private final SinkSpec spec;
  private final long epoch;
  private final String topic;
  private TransactionalProducer producer;

  Repair(SinkSpec spec, long epoch) {
    this.spec = spec;
    this.epoch = epoch;
    this.topic = spec.setting("topic");
  }

  /** Those of which readers of committed rows see nothing: an id that Kafka has forgotten does not say how it ended. */
  List<PreparedTransaction> unseen(List<PreparedTransaction> ended) throws IOException {
    List<PreparedTransaction> unseen = new ArrayList<>();
    for (PreparedTransaction one : ended) {
      long seen = read(one, "read_committed", record -> {});
      if (seen == 0) {
        unseen.add(one);
      } else if (seen < one.places().records()) {
        throw gone(one, seen);
      }
    }
    return unseen;
  }

  /** The new transaction, prepared as the others were. It is open until it is committed by its id. */
  PreparedTransaction copy(List<PreparedTransaction> lost) throws IOException {
    try {
      producer = Producers.connect(spec, KafkaSink.prefix(spec) + "repair", OWN, false);
      producer.begin(epoch);
      for (PreparedTransaction one : lost) {
        long found = read(one, "read_uncommitted", producer::copy);
        if (found < one.places().records()) {
          throw gone(one, found);
        }
      }
      return producer.prepared();
    } catch (KafkaException e) {
      throw new IOException(e.getMessage(), e);
    }
  }

  /** Returns how many of a transaction's records were found. */
  private long read(PreparedTransaction one, String isolation, Consumer<ConsumerRecord<byte[], byte[]>> each)
      throws IOException {
    long found = 0;
    try (KafkaConsumer<byte[], byte[]> consumer = consumer(isolation)) {
      for (Map.Entry<Integer, Places.Runs> part : one.places().byPartition().entrySet()) {
        found += read(consumer, new TopicPartition(topic, part.getKey()), part.getValue(), each);
      }
    }
    return found;
  }

  private long read(
      KafkaConsumer<byte[], byte[]> consumer,
      TopicPartition partition,
      Places.Runs runs,
      Consumer<ConsumerRecord<byte[], byte[]>> each)
      throws IOException {
    consumer.assign(List.of(partition));
    consumer.seek(partition, runs.first());
    long found = 0;
    long deadline = System.currentTimeMillis() + PATIENCE_MILLIS;
    try {
      while (consumer.position(partition) <= runs.last()) {
        for (ConsumerRecord<byte[], byte[]> record : consumer.poll(Duration.ofMillis(200))) {
          if (runs.hold(record.offset())) {
            each.accept(record);
            found++;
          }
        }
        if (System.currentTimeMillis() > deadline) {
          throw new IOException("what was written to " + partition + " for epoch " + epoch + " cannot be read");
        }
      }
    } catch (OffsetOutOfRangeException e) {
      return found;
    }
    return found;
  }

  private KafkaConsumer<byte[], byte[]> consumer(String isolation) {
    Map<String, Object> settings = new HashMap<>(KafkaSink.client(spec));
    settings.put("isolation.level", isolation);
    settings.put("auto.offset.reset", "none");
    settings.put("enable.auto.commit", "false");
    return KafkaSink.withOwnClasses(
        () -> new KafkaConsumer<>(settings, new ByteArrayDeserializer(), new ByteArrayDeserializer()));
  }

  private IOException gone(PreparedTransaction one, long found) {
    return new IOException(
        "MS-KAFKA-006: sink \"" + spec.name() + "\": Kafka gave up transaction " + one.id() + " of epoch " + epoch
            + " after transaction_timeout, and of its " + one.places().records() + " records topic \"" + topic
            + "\" holds " + found + " still.");
  }

  @Override
  public void close() {
    if (producer != null) {
      producer.close();
    }
  }
}
