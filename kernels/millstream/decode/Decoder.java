package millstream.decode;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Reads a record into a row: its value by the source's format, the key where there is no value, and the record itself.
 */
final class Decoder {
  private static final String OP = "op";

  private final DecodeSpec spec;
  private final int width;
  private final Values values;
  private final Debezium changes;
  private final RecordKey key;

  private int size;

  Decoder(DecodeSpec spec) {
    this.spec = spec;
    this.width = spec.outputType().length();
    StructType type = spec.valueType();
    this.values = switch (spec.format) {
      case "debezium" -> null;
      case "avro" -> new Avro(spec, spec.changelog ? type.add(OP, "string") : type);
      case "protobuf" -> new Protobuf(spec, spec.changelog ? type.add(OP, "string") : type);
      default -> new Json(spec.changelog ? type.add(OP, "string") : type);
    };
    this.key = spec.upserts.length == 0 ? null : RecordKey.of(spec);
    this.changes = spec.debezium() ? new Debezium(type) : null;
  }

  /** Null if the record is not about the table's rows. */
  InternalRow row(InternalRow record) throws Undecodable {
    Object[] row = new Object[width];
    row[spec.weight()] = 1L;
    spec.arrived(row, record);
    boolean deleted = record.isNullAt(1);
    size = 0;
    if (deleted) {
      fillKey(row, record);
    } else if (changes != null) {
      Debezium.Change change = changes.read(value(record));
      if (change == null) {
        return null;
      }
      deleted = change.deletes();
      if (change.row() != null) {
        fill(row, change.row());
      } else {
        fillKey(row, record);
      }
    } else {
      fill(row, values.parse(value(record), "value"));
    }
    if (key != null) {
      row[spec.weight() + 1] = deleted;
      row[spec.weight() + 2] = record.getLong(3);
    }
    if (spec.versions) {
      row[spec.place()] = record.getLong(3);
      row[spec.place() + 1] = record.getLong(4);
    }
    fillRecord(row, record);
    return new GenericInternalRow(row);
  }

  private byte[] value(InternalRow record) {
    byte[] value = record.getBinary(1);
    size = value.length;
    return value;
  }

  /** The bytes of the last record's value. */
  int size() {
    return size;
  }

  private void fill(Object[] row, InternalRow parsed) throws Undecodable {
    int read = spec.schema.length() - spec.record;
    for (int i = 0; i < read; i++) {
      row[i] = parsed.isNullAt(i) ? null : parsed.get(i, spec.schema.fields()[i].dataType());
    }
    if (spec.changelog) {
      row[spec.weight()] = weight(parsed.isNullAt(read) ? null : parsed.getUTF8String(read));
    }
  }

  /** What is handed in is in a buffer that the next record overwrites. */
  private void fillRecord(Object[] row, InternalRow record) {
    int first = spec.schema.length() - spec.record;
    for (int i = 0; i < spec.record; i++) {
      int from = spec.recordAt() + i;
      DataType type = spec.schema.fields()[first + i].dataType();
      row[first + i] = record.isNullAt(from) ? null : InternalRow.copyValue(record.get(from, type));
    }
  }

  private static long weight(UTF8String op) throws Undecodable {
    String text = op == null ? "missing" : op.toString();
    switch (text) {
      case "insert":
        return 1;
      case "delete":
        return -1;
      default:
        throw new Undecodable("its op is " + text + ", not insert or delete");
    }
  }

  private void fillKey(Object[] row, InternalRow record) throws Undecodable {
    if (key == null) {
      throw new Undecodable("it has no value");
    }
    if (record.isNullAt(0)) {
      throw new Undecodable("it has neither value nor key");
    }
    key.fill(row, record.getBinary(0));
  }
}
