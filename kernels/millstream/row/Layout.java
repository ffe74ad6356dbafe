package millstream.row;

import java.io.Serializable;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/**
 * Where things are in the rows that enter a stage.
 *
 * <pre>
 *   _op        which operator                   (only if the stage hosts several)
 *   _k0 …      the key, in slots that the operators share
 *   _port      which payload is set             (only if there are several)
 *   _w         the weight
 *   _p0 …      one struct per input of an operator, all but one NULL
 * </pre>
 */
public final class Layout implements Serializable {
  private static final long serialVersionUID = 1L;

  public final StructType schema;
  public final int keys;
  public final boolean tagged;
  private final int port;
  public final int weight;
  public final int payload;
  private final int[] widths;

  public Layout(StructType schema) {
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

  public StructType payloadType(int index) {
    return (StructType) schema.fields()[payload + index].dataType();
  }

  /** The grouping columns: the tag and the key slots. */
  public StructType keyType() {
    StructType type = new StructType();
    for (int i = 0; i < keys; i++) {
      type = type.add(schema.fields()[i]);
    }
    return type;
  }

  public int operator(InternalRow keyOrRow) {
    return tagged ? keyOrRow.getInt(0) : 0;
  }

  public int port(InternalRow row) {
    return port < 0 ? 0 : row.getInt(port);
  }

  public long weight(InternalRow row) {
    return row.getLong(weight);
  }

  public InternalRow payload(InternalRow row, int index) {
    return row.getStruct(payload + index, widths[index]);
  }
}
