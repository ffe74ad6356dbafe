package millstream.decode;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.Iterator;
import java.util.NoSuchElementException;
import millstream.metrics.Counts;
import millstream.metrics.Meters;
import millstream.row.InternalRowEncoder;
import org.apache.spark.api.java.function.MapPartitionsFunction;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Turns records of a log ({@code key, value, partition, offset, timestamp}) into weighted rows.
 *
 * <p>Done before any step of the user's, so that no filter can hide a record that cannot be read. What happens to such
 * a record is the source's policy: fail and name it, skip and count it, or send it on as a dead letter.
 */
public final class Decode implements MapPartitionsFunction<InternalRow, InternalRow> {
  private static final long serialVersionUID = 1L;

  private final DecodeSpec spec;
  private final Counts counts;

  private Decode(DecodeSpec spec, Counts counts) {
    this.spec = spec;
    this.counts = counts;
  }

  /** {@code records} must have the columns of {@link DecodeSpec}, in that order. */
  public static Dataset<Row> apply(Dataset<Row> records, String specJson, String schemaJson) {
    StructType schema = (StructType) StructType.fromJson(schemaJson);
    DecodeSpec spec = DecodeSpec.read(parse(specJson), schema);
    new Decoder(spec); // an error in the options shows here, not in a task
    Counts counts = Meters.of(records.sparkSession()).source(spec.source);
    return records
        .as(new InternalRowEncoder(records.schema()))
        .mapPartitions(new Decode(spec, counts), new InternalRowEncoder(spec.outputType()))
        .toDF();
  }

  private static JsonNode parse(String json) {
    try {
      return new ObjectMapper().readTree(json);
    } catch (JsonProcessingException error) {
      throw new IllegalArgumentException("not JSON: " + json, error);
    }
  }

  @Override
  public Iterator<InternalRow> call(Iterator<InternalRow> records) {
    return new Rows(records);
  }

  private final class Rows implements Iterator<InternalRow> {
    private final Iterator<InternalRow> records;
    private final Decoder decoder = new Decoder(spec);
    private InternalRow next;

    Rows(Iterator<InternalRow> records) {
      this.records = records;
    }

    @Override
    public boolean hasNext() {
      while (next == null && records.hasNext()) {
        InternalRow record = records.next();
        try {
          next = decoder.row(record); // null if it says nothing about the table
        } catch (Undecodable reason) {
          next = answer(record, reason);
        }
        counts.rowsIn++;
        counts.bytes += decoder.size();
      }
      return next != null;
    }

    @Override
    public InternalRow next() {
      if (!hasNext()) {
        throw new NoSuchElementException();
      }
      InternalRow row = next;
      next = null;
      return row;
    }
  }

  private String topic(InternalRow record) {
    return spec.topicColumn ? record.getUTF8String(5).toString() : spec.topic;
  }

  private InternalRow answer(InternalRow record, Undecodable reason) {
    int partition = record.getInt(2);
    long offset = record.getLong(3);
    switch (spec.onError) {
      case "skip":
        counts.skipped++;
        return null;
      case "dead_letter":
        Object[] values = new Object[spec.outputType().length()];
        values[spec.weight()] = 1L;
        spec.arrived(values, record);
        UTF8String topic = UTF8String.fromString(topic(record));
        UTF8String why = UTF8String.fromString(reason.getMessage());
        Object[] letter = {topic, partition, offset, why, record.isNullAt(1) ? null : record.getBinary(1)};
        values[spec.bad()] = new GenericInternalRow(letter);
        return new GenericInternalRow(values);
      default:
        throw new IllegalStateException(
            "MS-DECODE-001: source \"" + spec.source + "\" cannot read the record at offset " + offset + " of topic \""
                + topic(record) + "\", partition " + partition + ": " + reason.getMessage());
    }
  }
}
