package millstream.kafka;

import java.io.IOException;
import millstream.avro.AvroWriter;
import millstream.avro.Registry;
import millstream.protobuf.ProtobufException;
import millstream.protobuf.ProtobufWriter;
import millstream.sink.SinkKind;
import millstream.sink.SinkSpec;
import millstream.sink.TaskWriter;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.errors.RecordTooLargeException;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.StructType;

/** One task's rows of one epoch: a transaction that begins with the first row and is left open. */
final class KafkaWriter implements TaskWriter {
  private final SinkSpec spec;
  private final SinkKind.TaskId task;
  private final String topic;
  private final Encoding encoding;
  private TransactionalProducer producer;

  /** Makes a value of a whole row. */
  private interface Encoding {
    byte[] bytes(InternalRow row) throws IOException;
  }

  KafkaWriter(SinkSpec spec, SinkKind.TaskId task) throws IOException {
    this.spec = spec;
    this.task = task;
    this.topic = spec.setting("topic");
    try {
      this.encoding = encoding(spec);
    } catch (ProtobufException e) {
      throw e.in("sink \"" + spec.name() + "\"");
    }
  }

  /** Null where values come as bytes. A schema is registered, if there is a registry, before the first record. */
  private static Encoding encoding(SinkSpec spec) throws IOException {
    switch (spec.settings().getOrDefault("format", "json")) {
      case "avro":
        String url = spec.settings().get("registry");
        Registry registry =
            url == null ? null : new Registry(url, spec.settings().getOrDefault("registry_login", ""));
        String schema = spec.settings().get("avro_schema");
        return new AvroWriter(type(spec), schema, registry, spec.setting("topic") + "-value")::write;
      case "protobuf":
        String message = spec.setting("protobuf_message");
        return new ProtobufWriter(type(spec), spec.setting("protobuf_descriptors"), message)::write;
      default:
        return null;
    }
  }

  private static StructType type(SinkSpec spec) {
    return (StructType) StructType.fromJson(spec.setting("schema"));
  }

  @Override
  public void write(byte[] key, byte[] value, InternalRow row) throws IOException {
    try {
      write(key, encoding == null ? value : encoding.bytes(row));
    } catch (ProtobufException e) {
      throw e.in("sink \"" + spec.name() + "\"");
    }
  }

  @Override
  public void write(byte[] key, byte[] value) throws IOException {
    try {
      if (producer == null) {
        producer = Producers.take(spec, task);
        producer.begin(task.epoch());
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
