package millstream.kafka;

import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.time.Duration;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.common.utils.ProducerIdAndEpoch;

/** A producer with a transactional id, and the epoch of the job whose rows its last transaction holds. */
final class TransactionalProducer {
  private static final long NONE = Long.MIN_VALUE;

  private final String id;
  private final KafkaProducer<byte[], byte[]> client;
  private long open = NONE;
  private volatile long usedAt = System.nanoTime();

  TransactionalProducer(String id, KafkaProducer<byte[], byte[]> client) {
    this.id = id;
    this.client = client;
  }

  String id() {
    return id;
  }

  KafkaProducer<byte[], byte[]> client() {
    return client;
  }

  Duration idle() {
    return Duration.ofNanos(System.nanoTime() - usedAt);
  }

  void begin(long epoch) {
    client.beginTransaction();
    open = epoch;
  }

  /**
   * Before it is used again: false if it cannot be. The driver has committed what was published, and the client is yet
   * to learn of it; to commit again what is committed changes nothing.
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
    open = NONE;
  }

  void close() {
    client.close(Duration.ZERO);
  }

  /** Kafka's client keeps these to itself; without them no other process could end the transaction. */
  PreparedTransaction prepared(long records) {
    usedAt = System.nanoTime();
    try {
      Field field = KafkaProducer.class.getDeclaredField("transactionManager");
      field.setAccessible(true);
      Object transactions = field.get(client);
      Method method = transactions.getClass().getDeclaredMethod("producerIdAndEpoch");
      method.setAccessible(true);
      ProducerIdAndEpoch found = (ProducerIdAndEpoch) method.invoke(transactions);
      return new PreparedTransaction(id, found.producerId, found.epoch, records);
    } catch (ReflectiveOperationException e) {
      throw new IllegalStateException("MS-KAFKA-007: this version of kafka-clients is not one that Millstream knows.", e);
    }
  }
}
