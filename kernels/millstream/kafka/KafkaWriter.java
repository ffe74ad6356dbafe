package millstream.kafka;

import java.io.IOException;
import millstream.sink.SinkKind;
import millstream.sink.SinkSpec;
import millstream.sink.TaskWriter;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;

/** One task's rows of one epoch: a transaction that begins with the first row and is left open. */
final class KafkaWriter implements TaskWriter {
  private final SinkSpec spec;
  private final SinkKind.TaskId task;
  private final String topic;
  private TransactionalProducer producer;
  private long records;
  private volatile Exception failure;

  KafkaWriter(SinkSpec spec, SinkKind.TaskId task) {
    this.spec = spec;
    this.task = task;
    this.topic = spec.setting("topic");
  }

  @Override
  public void write(byte[] key, byte[] value) throws IOException {
    check();
    try {
      if (producer == null) {
        producer = Producers.take(spec, task);
        producer.begin(task.epoch());
      }
      producer.client().send(new ProducerRecord<>(topic, key, value), (done, error) -> {
        if (error != null) {
          failure = error;
        }
      });
      records++;
    } catch (KafkaException e) {
      throw failed(e);
    }
  }

  private void check() throws IOException {
    if (failure != null) {
      throw failed(failure);
    }
  }

  private IOException failed(Exception cause) {
    return new IOException(
        "MS-KAFKA-005: sink \"" + spec.name() + "\" cannot write to topic \"" + topic + "\": " + cause.getMessage(), cause);
  }

  /** Null if there was no row: then there is no transaction either. */
  @Override
  public Prepared prepare() throws IOException {
    if (producer == null) {
      return null;
    }
    try {
      producer.client().flush();
      check();
      PreparedTransaction prepared = producer.prepared(records);
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
