package millstream.avro;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import org.apache.avro.Schema;
import org.apache.avro.generic.GenericDatumWriter;
import org.apache.avro.io.BinaryEncoder;
import org.apache.avro.io.EncoderFactory;
import org.apache.spark.sql.avro.AvroSerializer;
import org.apache.spark.sql.avro.SchemaConverters;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.StructType;

/** Writes rows as Avro with Spark's own converter, with the id of their schema in front if there is a registry. */
public final class AvroWriter {
  private final AvroSerializer rows;
  private final GenericDatumWriter<Object> writer;
  private final byte[] prefix;
  private final ByteArrayOutputStream out = new ByteArrayOutputStream();
  private BinaryEncoder encoder;

  /** {@code schema} may be null: then it is that of the row's columns. So may {@code registry}. */
  public AvroWriter(StructType type, String schema, Registry registry, String subject) throws IOException {
    Schema avro = schema == null
        ? SchemaConverters.toAvroType(type, false, "row", "millstream")
        : new Schema.Parser().parse(schema);
    this.rows = new AvroSerializer(type, avro, false);
    this.writer = new GenericDatumWriter<>(avro);
    this.prefix = registry == null ? new byte[0] : prefix(registry.register(subject, avro));
  }

  private static byte[] prefix(int id) {
    return ByteBuffer.allocate(AvroReader.PREFIX)
        .put(AvroReader.MAGIC)
        .putInt(id)
        .array();
  }

  public byte[] write(InternalRow row) throws IOException {
    out.reset();
    out.writeBytes(prefix);
    encoder = EncoderFactory.get().binaryEncoder(out, encoder);
    writer.write(rows.serialize(row), encoder);
    encoder.flush();
    return out.toByteArray();
  }
}
