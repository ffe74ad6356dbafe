package millstream.stage;

import java.io.Serializable;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/**
 * Where things stand in the rows that enter a stage.
 *
 * <pre>
 *   _op        which operator                   (only if the stage hosts several)
 *   _k0 …      the key, in slots that the operators share
 *   _port      which payload is set             (only if there are several)
 *   _w         the weight
 *   _p0 …      one struct per input of an operator, all but one NULL
 * </pre>
 */
final class Layout implements Serializable {
  private static final long serialVersionUID = 1L;

  final StructType schema;
  final int keys;
  final boolean tagged;
  private final int port;
  final int weight;
  final int payload;
  private final int[] widths;

  Layout(StructType schema) {
    this.schema = schema;
    StructField[] fields = schema.fields();
    this.tagged = fields[0].name().equals("_op");
    this.weight = schema.fieldIndex("_w");
    this.payload = weight + 1;
    boolean ported = weight > 0 && fields[weight - 1].name().equals("_port");
    this.port = ported ? weight - 1 : -1;
    this.keys = ported ? weight - 1 : weight;
    this.widths = new int[fields.length - payload];
    for (int i = 0; i < widths.length; i++) {
      widths[i] = payloadType(i).length();
    }
  }

  StructType payloadType(int index) {
    return (StructType) schema.fields()[payload + index].dataType();
  }

  /** The grouping columns: the tag and the key slots. */
  StructType keyType() {
    StructType type = new StructType();
    for (int i = 0; i < keys; i++) {
      type = type.add(schema.fields()[i]);
    }
    return type;
  }

  int operator(InternalRow keyOrRow) {
    return tagged ? keyOrRow.getInt(0) : 0;
  }

  int port(InternalRow row) {
    return port < 0 ? 0 : row.getInt(port);
  }

  long weight(InternalRow row) {
    return row.getLong(weight);
  }

  InternalRow payload(InternalRow row, int index) {
    return row.getStruct(payload + index, widths[index]);
  }

  /** What leaves a stage: {@code _op} (if there are several operators), {@code _w}, one struct per operator. */
  static StructType outputType(Operator[] operators) {
    StructType type = new StructType();
    if (operators.length > 1) {
      type = type.add("_op", DataTypes.IntegerType, false);
    }
    type = type.add("_w", DataTypes.LongType, false);
    for (int i = 0; i < operators.length; i++) {
      type = type.add("_o" + i, operators[i].outputType(), operators.length > 1);
    }
    return type;
  }
}
