package millstream.avro;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.HashMap;
import java.util.Map;
import org.apache.avro.AvroRuntimeException;
import org.apache.avro.Schema;
import org.apache.avro.generic.GenericDatumReader;
import org.apache.avro.io.BinaryDecoder;
import org.apache.avro.io.DecoderFactory;
import org.apache.spark.sql.avro.AvroDeserializer;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.StructType;

/** Reads Avro values with Spark's own converter: by one schema that is known, or by the one that each value names. */
public final class AvroReader {
  /** The first byte of a value with a registry; then comes the id of its schema. */
  static final byte MAGIC = 0;

  static final int PREFIX = 5;

  private final StructType type;
  private final Registry registry;
  private final Reading known;
  private final Map<Integer, Reading> byId = new HashMap<>();
  private BinaryDecoder decoder;

  /** A value that is not Avro of its schema. */
  public static final class Malformed extends Exception {
    private static final long serialVersionUID = 1L;

    Malformed(String reason) {
      super(reason, null, false, false);
    }
  }

  private record Reading(GenericDatumReader<Object> reader, AvroDeserializer rows) {
    static Reading of(Schema schema, StructType type) {
      try {
        return new Reading(
            new GenericDatumReader<>(schema), new AvroDeserializer(schema, type, "CORRECTED", false, "", -1));
      } catch (RuntimeException e) {
        throw e;
      } catch (Exception e) {
        throw new IllegalStateException("MS-AVRO-002: the columns do not fit the Avro schema: " + e.getMessage(), e);
      }
    }
  }

  /** Either {@code schema} or {@code registry} is given; the other is null. */
  public AvroReader(StructType type, String schema, Registry registry) {
    this.type = type;
    this.registry = registry;
    this.known = schema == null ? null : Reading.of(new Schema.Parser().parse(schema), type);
  }

  /** The row is only good until the next is read. */
  public InternalRow read(byte[] value) throws Malformed, IOException {
    int from = known == null ? PREFIX : 0;
    Reading reading = known == null ? named(value) : known;
    try {
      decoder = DecoderFactory.get().binaryDecoder(value, from, value.length - from, decoder);
      Object read = reading.reader.read(null, decoder);
      if (!decoder.isEnd()) {
        throw new Malformed("there are bytes after its end");
      }
      return (InternalRow) reading.rows.deserialize(read).get();
    } catch (IOException | AvroRuntimeException | IndexOutOfBoundsException | NegativeArraySizeException e) {
      throw new Malformed(e.getMessage() == null ? "it ends too early" : e.getMessage());
    }
  }

  private Reading named(byte[] value) throws Malformed, IOException {
    if (value.length < PREFIX || value[0] != MAGIC) {
      throw new Malformed("it does not name its schema");
    }
    int id = ByteBuffer.wrap(value, 1, 4).getInt();
    Reading reading = byId.get(id);
    if (reading == null) {
      Schema schema = registry.schema(id);
      if (schema == null) {
        throw new Malformed("its schema, " + id + ", is not in the registry");
      }
      try {
        reading = Reading.of(schema, type);
      } catch (IllegalStateException e) {
        throw new Malformed(
            "its schema, " + id + ", does not fit the columns: " + e.getCause().getMessage());
      }
      byId.put(id, reading);
    }
    return reading;
  }
}
