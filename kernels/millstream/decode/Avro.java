package millstream.decode;

import java.io.IOException;
import java.io.UncheckedIOException;
import millstream.avro.AvroReader;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.StructType;

/** Values in Avro. A registry that does not answer is not the record's fault: the job fails. */
final class Avro implements Values {
  private final AvroReader reader;

  Avro(DecodeSpec spec, StructType type) {
    reader = new AvroReader(type, spec.avroSchema, spec.registry);
  }

  @Override
  public InternalRow parse(byte[] bytes, String what) throws Undecodable {
    try {
      return reader.read(bytes);
    } catch (AvroReader.Malformed e) {
      throw new Undecodable("its " + what + " is not the Avro that was expected (" + e.getMessage() + ")");
    } catch (IOException e) {
      throw new UncheckedIOException(e.getMessage(), e);
    }
  }
}
