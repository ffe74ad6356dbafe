package millstream.decode;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.Serializable;
import millstream.avro.Registry;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/**
 * How to read a source's records.
 *
 * <pre>
 *   in:   key, value, partition, offset, timestamp,  [topic  where there are several],  the columns of the record itself
 *   out:  the schema's columns, the record's last, _w,  [_deleted, _order  for upserts],  [_place, _at  for versions],
 *         [_bad  for dead letters],  [the record's time, by the name that it is asked for]
 * </pre>
 */
final class DecodeSpec implements Serializable {
  private static final long serialVersionUID = 1L;

  final String source;
  final String topic;
  final String onError;
  final boolean changelog;
  final String[] upserts;
  /** What the time of a record's arrival is called; NULL: it is not asked for. */
  final String arrival;

  /** Whether each change is wanted with its place in the log and the time at which it was put there. */
  final boolean versions;

  final boolean topicColumn;
  final String format;
  /** For Avro: the schema of all values, or where the schemas are that they name. */
  final String avroSchema;

  final Registry registry;

  /** For Protobuf: the message's name and the descriptors, in base 64. */
  final String protobufMessage;

  final String protobufDescriptors;
  final boolean textKeys;
  /** How many of the schema's columns, the last ones, come from the record itself. */
  final int record;

  final StructType schema;

  private DecodeSpec(JsonNode json, StructType schema) {
    this.source = json.get("source").asText();
    this.topic = json.get("topic").asText();
    this.onError = json.get("on_error").asText();
    this.changelog = json.get("changelog").asBoolean();
    this.arrival = json.path("arrival").textValue();
    this.versions = json.path("versions").asBoolean();
    JsonNode keys = json.get("upserts");
    this.upserts = new String[keys.size()];
    for (int i = 0; i < upserts.length; i++) {
      upserts[i] = keys.get(i).asText();
    }
    this.topicColumn = json.path("topic_column").asBoolean();
    this.format = json.path("format").asText("json");
    this.avroSchema = json.hasNonNull("avro_schema") ? json.get("avro_schema").asText() : null;
    this.registry = json.hasNonNull("registry")
        ? new Registry(
            json.get("registry").asText(), json.path("registry_login").asText(""))
        : null;
    this.protobufMessage = json.path("protobuf_message").textValue();
    this.protobufDescriptors = json.path("protobuf_descriptors").textValue();
    this.textKeys = json.path("key_format").asText("json").equals("text");
    this.record = json.path("record").asInt();
    this.schema = schema;
  }

  static DecodeSpec read(JsonNode json, StructType schema) {
    return new DecodeSpec(json, schema);
  }

  StructType outputType() {
    StructType type = schema.add("_w", DataTypes.LongType, false);
    if (upserts.length > 0) {
      type = type.add("_deleted", DataTypes.BooleanType, false).add("_order", DataTypes.LongType, false);
    }
    if (versions) {
      type = type.add("_place", DataTypes.LongType, true).add("_at", DataTypes.TimestampType, true);
    }
    if (onError.equals("dead_letter")) {
      type = type.add("_bad", deadLetterType(), true);
    }
    return arrival == null ? type : type.add(arrival, DataTypes.TimestampType, false);
  }

  boolean debezium() {
    return format.equals("debezium");
  }

  /** The columns that are read from the value. */
  StructType valueType() {
    return new StructType(java.util.Arrays.copyOf(schema.fields(), schema.length() - record));
  }

  /** Where the columns of the record itself begin in what is handed in. */
  int recordAt() {
    return topicColumn ? 6 : 5;
  }

  int weight() {
    return schema.length();
  }

  int place() {
    return weight() + (upserts.length > 0 ? 3 : 1);
  }

  int bad() {
    return place() + (versions ? 2 : 0);
  }

  /** The last column is the record's time, if it is asked for. */
  void arrived(Object[] row, InternalRow record) {
    if (arrival != null) {
      row[row.length - 1] = record.getLong(4);
    }
  }

  private static StructType deadLetterType() {
    return new StructType()
        .add("topic", DataTypes.StringType)
        .add("partition", DataTypes.IntegerType)
        .add("offset", DataTypes.LongType)
        .add("reason", DataTypes.StringType)
        .add("value", DataTypes.BinaryType);
  }
}
