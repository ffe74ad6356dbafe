package millstream.decode;

import millstream.protobuf.ProtobufException;
import millstream.protobuf.ProtobufReader;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.StructType;

/** Values in Protobuf. */
final class Protobuf implements Values {
  private final ProtobufReader reader;

  Protobuf(DecodeSpec spec, StructType type) {
    try {
      reader = new ProtobufReader(type, spec.protobufDescriptors, spec.protobufMessage);
    } catch (ProtobufException e) {
      throw e.in("source \"" + spec.source + "\"");
    }
  }

  @Override
  public InternalRow parse(byte[] bytes, String what) throws Undecodable {
    try {
      return reader.read(bytes);
    } catch (ProtobufReader.Malformed e) {
      throw new Undecodable("its " + what + " is not the Protobuf message that was expected (" + e.getMessage() + ")");
    }
  }
}
