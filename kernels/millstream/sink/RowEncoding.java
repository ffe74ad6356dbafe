package millstream.sink;

import java.io.IOException;
import millstream.avro.AvroWriter;
import millstream.avro.Registry;
import millstream.protobuf.ProtobufException;
import millstream.protobuf.ProtobufWriter;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.StructType;

/** Turns a whole row into a value, for sinks of records in a format that is not text. */
public final class RowEncoding {
  private interface Encoder {
    byte[] bytes(InternalRow row) throws IOException;
  }

  private final SinkSpec spec;
  private final Encoder encoder;

  private RowEncoding(SinkSpec spec, Encoder encoder) {
    this.spec = spec;
    this.encoder = encoder;
  }

  /** A schema is registered, if there is a registry, before the first record. */
  public static RowEncoding of(SinkSpec spec) throws IOException {
    try {
      return new RowEncoding(spec, encoder(spec));
    } catch (ProtobufException e) {
      throw e.in("sink \"" + spec.name() + "\"");
    }
  }

  private static Encoder encoder(SinkSpec spec) throws IOException {
    switch (spec.settings().getOrDefault("format", "json")) {
      case "avro":
        String url = spec.settings().get("registry");
        Registry registry =
            url == null ? null : new Registry(url, spec.settings().getOrDefault("registry_login", ""));
        String schema = spec.settings().get("avro_schema");
        return new AvroWriter(type(spec), schema, registry, spec.setting("subject"))::write;
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

  /** {@code value}: what it is already, where values come as bytes. */
  public byte[] value(byte[] value, InternalRow row) throws IOException {
    try {
      return encoder == null ? value : encoder.bytes(row);
    } catch (ProtobufException e) {
      throw e.in("sink \"" + spec.name() + "\"");
    }
  }
}
