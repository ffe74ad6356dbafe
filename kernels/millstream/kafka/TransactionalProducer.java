package millstream.kafka;

import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.time.Duration;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.utils.ProducerIdAndEpoch;

/** A producer with a transactional id, and the epoch of the job whose rows its last transaction holds. */
final class TransactionalProducer {
  private static final long NONE = Long.MIN_VALUE;

  private final String id;
  private final long tenure;
  private final KafkaProducer<byte[], byte[]> client;
  private long open = NONE;
  private Places places = new Places();
  private volatile Exception failure;
  private volatile long usedAt = System.nanoTime();

  TransactionalProducer(String id, long tenure, KafkaProducer<byte[], byte[]> client) {
    this.id = id;
    this.tenure = tenure;
    this.client = client;
  }

  String id() {
    return id;
  }

  /** The run that made it. */
  long tenure() {
    return tenure;
  }

  Duration idle() {
    return Duration.ofNanos(System.nanoTime() - usedAt);
  }

  void begin(long epoch) {
    client.beginTransaction();
    open = epoch;
    places = new Places();
    failure = null;
  }

  /** Answers come in the order of a partition's offsets, all on one thread. */
  void send(ProducerRecord<byte[], byte[]> record) {
    check();
    client.send(record, (done, error) -> {
      if (error == null) {
        places.add(done.partition(), done.offset());
      } else {
        failure = error;
      }
    });
  }

  /** Into the same partition, with its time. */
  void copy(ConsumerRecord<byte[], byte[]> record) {
    send(new ProducerRecord<>(record.topic(), record.partition(), record.timestamp(), record.key(), record.value()));
  }

  private void check() {
    if (failure != null) {
      throw failure instanceof KafkaException known ? known : new KafkaException(failure);
    }
  }

  /**
   * Before it is used again: false if it cannot be. The driver has committed what was published, and the client has yet
   * to learn of it; committing it again changes nothing.
   */
  boolean settle(long published) {
    usedAt = System.nanoTime();
    if (open == NONE) {
      return true;
    }
    if (open > published) {
      return false;
    }
    client.commitTransaction();
    open = NONE;
    return true;
  }

  void aborted() {
    client.abortTransaction();
  }

  void close() {
    client.close(Duration.ZERO);
  }

  /** When all is at the brokers. Kafka's client hides id and epoch; without them no other process could end it. */
  PreparedTransaction prepared() {
    usedAt = System.nanoTime();
    client.flush();
    check();
    try {
      Field field = KafkaProducer.class.getDeclaredField("transactionManager");
      field.setAccessible(true);
      Object transactions = field.get(client);
      Method method = transactions.getClass().getDeclaredMethod("producerIdAndEpoch");
      method.setAccessible(true);
      ProducerIdAndEpoch found = (ProducerIdAndEpoch) method.invoke(transactions);
      return new PreparedTransaction(id, found.producerId, found.epoch, places);
    } catch (ReflectiveOperationException e) {
      throw new IllegalStateException(
          "MS-KAFKA-007: this version of kafka-clients is not one that Millstream knows.", e);
    }
  }
}
