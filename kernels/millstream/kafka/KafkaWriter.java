package millstream.kafka;

import java.io.IOException;
import millstream.sink.RowEncoding;
import millstream.sink.SinkKind;
import millstream.sink.SinkSpec;
import millstream.sink.TaskWriter;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.errors.RecordTooLargeException;
import org.apache.spark.sql.catalyst.InternalRow;

/** One task's rows of one epoch: a transaction that begins with the first row and is left open. */
final class KafkaWriter implements TaskWriter {
  private final SinkSpec spec;
  private final SinkKind.TaskId task;
  private final String topic;
  private final RowEncoding encoding;
  private TransactionalProducer producer;

  KafkaWriter(SinkSpec spec, SinkKind.TaskId task) throws IOException {
    this.spec = spec;
    this.task = task;
    this.topic = spec.setting("topic");
    this.encoding = RowEncoding.of(spec);
  }

  @Override
  public void write(byte[] key, byte[] value, InternalRow row) throws IOException {
    write(key, encoding.value(value, row));
  }

  @Override
  public void write(byte[] key, byte[] value) throws IOException {
    try {
      if (producer == null) {
        producer = Producers.take(spec, task);
        producer.begin(task.epoch());
        Producers.readyNext(spec, task);
      }
      producer.send(new ProducerRecord<>(topic, key, value));
    } catch (KafkaException e) {
      throw failed(e);
    }
  }

  private IOException failed(KafkaException cause) {
    if (cause instanceof RecordTooLargeException) {
      return new IOException(
          "MS-KAFKA-008: sink \"" + spec.name() + "\" has a record that is too large for topic \"" + topic + "\": "
              + cause.getMessage(),
          cause);
    }
    if (Refused.is(cause)) {
      return new IOException(
          "MS-KAFKA-010: sink \"" + spec.name() + "\" is refused, topic \"" + topic + "\": " + cause.getMessage(),
          cause);
    }
    return new IOException(
        "MS-KAFKA-005: sink \"" + spec.name() + "\" cannot write to topic \"" + topic + "\": " + cause.getMessage(),
        cause);
  }

  /** Null if there was no row: then there is no transaction either. */
  @Override
  public Prepared prepare() throws IOException {
    if (producer == null) {
      return null;
    }
    try {
      PreparedTransaction prepared = producer.prepared();
      Producers.giveBack(producer);
      return prepared;
    } catch (KafkaException e) {
      throw failed(e);
    }
  }

  @Override
  public void abort() {
    if (producer != null) {
      Producers.abort(producer);
    }
  }
}
