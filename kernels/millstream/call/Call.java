package millstream.call;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.Serializable;
import java.util.Base64;
import java.util.HashMap;
import java.util.Iterator;
import millstream.metrics.Counts;
import millstream.metrics.Meters;
import millstream.python.WorkerPlace;
import millstream.row.InternalRowEncoder;
import org.apache.spark.api.java.function.MapPartitionsFunction;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;

/**
 * A user's Python function for every row, in real time.
 *
 * <p>Spark's own way, {@code mapInArrow}, gives rows back when a batch is full or the input ends, which in real time it
 * does not.
 */
public final class Call implements MapPartitionsFunction<InternalRow, InternalRow> {
  private static final long serialVersionUID = 1L;
  private static final ObjectMapper JSON = new ObjectMapper();

  /**
   * Its settings.
   *
   * @param command what the Python process is to run, in base64
   * @param python which Python that is
   * @param answer the type of the rows that come back, as JSON
   * @param beside whether only the last column of a row is handed over, and the one answer to it goes beside the row
   * @param waitMillis how long rows may wait for others to go with
   */
  public record Told(
      String step,
      String command,
      String python,
      HashMap<String, String> environment,
      String answer,
      boolean beside,
      long waitMillis) {}

  /** What all tasks have in common. */
  record Code(
      String step,
      WorkerPlace place,
      byte[] command,
      StructType input,
      StructType answer,
      boolean beside,
      long waitMillis,
      Counts counts)
      implements Serializable {}

  private final Code code;

  private Call(Code code) {
    this.code = code;
  }

  /** The rows that come back; beside those that went there, if so set. */
  public static Dataset<Row> apply(Dataset<Row> rows, String json) throws JsonProcessingException {
    Told told = JSON.readValue(json, Told.class);
    StructType answer = (StructType) DataType.fromJson(told.answer);
    Code code = new Code(
        told.step,
        new WorkerPlace(told.python, told.environment),
        Base64.getDecoder().decode(told.command),
        rows.schema(),
        answer,
        told.beside,
        told.waitMillis,
        Meters.of(rows.sparkSession()).operator(told.step));
    StructType output = told.beside ? both(rows.schema(), answer) : answer;
    return rows.as(new InternalRowEncoder(rows.schema()))
        .mapPartitions(new Call(code), new InternalRowEncoder(output))
        .toDF();
  }

  private static StructType both(StructType first, StructType second) {
    StructType type = first;
    for (var field : second.fields()) {
      type = type.add(field);
    }
    return type;
  }

  @Override
  public Iterator<InternalRow> call(Iterator<InternalRow> input) {
    return new Bundles(code, input);
  }
}
