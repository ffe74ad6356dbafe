package millstream.kafka;

import java.io.IOException;
import millstream.avro.AvroWriter;
import millstream.avro.Registry;
import millstream.sink.SinkKind;
import millstream.sink.SinkSpec;
import millstream.sink.TaskWriter;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.StructType;

/** One task's rows of one epoch: a transaction that begins with the first row and is left open. */
final class KafkaWriter implements TaskWriter {
  private final SinkSpec spec;
  private final SinkKind.TaskId task;
  private final String topic;
  private final AvroWriter avro;
  private TransactionalProducer producer;
  private long records;
  private volatile Exception failure;

  KafkaWriter(SinkSpec spec, SinkKind.TaskId task) throws IOException {
    this.spec = spec;
    this.task = task;
    this.topic = spec.setting("topic");
    this.avro = spec.settings().getOrDefault("format", "").equals("avro") ? avro(spec) : null;
  }

  /** Registers the schema, if there is a registry: it must be known before the first record. */
  private static AvroWriter avro(SinkSpec spec) throws IOException {
    String url = spec.settings().get("registry");
    Registry registry = url == null ? null : new Registry(url, spec.settings().getOrDefault("registry_login", ""));
    StructType type = (StructType) StructType.fromJson(spec.setting("schema"));
    return new AvroWriter(type, spec.settings().get("avro_schema"), registry, spec.setting("topic") + "-value");
  }

  @Override
  public void write(byte[] key, byte[] value, InternalRow row) throws IOException {
    write(key, avro == null ? value : avro.write(row));
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
