package millstream.protobuf;

import java.math.BigInteger;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.util.ArrayBasedMapData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;
import org.sparkproject.spark_core.protobuf.ByteString;
import org.sparkproject.spark_core.protobuf.Descriptors.Descriptor;
import org.sparkproject.spark_core.protobuf.Descriptors.EnumValueDescriptor;
import org.sparkproject.spark_core.protobuf.Descriptors.FieldDescriptor;
import org.sparkproject.spark_core.protobuf.DynamicMessage;
import org.sparkproject.spark_core.protobuf.InvalidProtocolBufferException;
import org.sparkproject.spark_core.protobuf.Message;

/**
 * Reads messages of one type into rows, columns by the fields' names. A missing field is NULL if Protobuf can tell that
 * it is missing; otherwise it has its default.
 */
public final class ProtobufReader {
  private final Descriptor message;
  private final Struct row;

  /** A value that is not a message of its type. */
  public static final class Malformed extends Exception {
    private static final long serialVersionUID = 1L;

    Malformed(String reason) {
      super(reason, null, false, false);
    }
  }

  /** What a field's value is in Spark. */
  private interface From {
    Object of(Object value);
  }

  public ProtobufReader(StructType type, String descriptor, String name) {
    message = MessageType.find(descriptor, name);
    row = new Struct(message, type);
  }

  public InternalRow read(byte[] value) throws Malformed {
    try {
      return row.of(DynamicMessage.parseFrom(message, value));
    } catch (InvalidProtocolBufferException | ArithmeticException | IllegalArgumentException e) {
      throw new Malformed(e.getMessage());
    }
  }

  private static final class Struct implements From {
    private final FieldDescriptor[] fields;
    private final From[] values;

    Struct(Descriptor message, StructType type) {
      fields = new FieldDescriptor[type.length()];
      values = new From[fields.length];
      for (int i = 0; i < fields.length; i++) {
        fields[i] = MessageType.field(message, type.fields()[i].name());
        values[i] = from(fields[i], type.fields()[i].dataType());
      }
    }

    @Override
    public InternalRow of(Object message) {
      Message read = (Message) message;
      Object[] row = new Object[fields.length];
      for (int i = 0; i < row.length; i++) {
        if (read.getUnknownFields().hasField(fields[i].getNumber())) {
          throw new IllegalArgumentException("field " + fields[i].getName() + " is of another type");
        }
        boolean missing = fields[i].hasPresence() && !read.hasField(fields[i]);
        row[i] = missing ? null : values[i].of(read.getField(fields[i]));
      }
      return new GenericInternalRow(row);
    }
  }

  private static From from(FieldDescriptor field, DataType type) {
    if (field.isMapField() && type instanceof MapType map) {
      FieldDescriptor key = field.getMessageType().findFieldByNumber(1);
      FieldDescriptor value = field.getMessageType().findFieldByNumber(2);
      From keys = one(key, map.keyType());
      From values = one(value, map.valueType());
      return entries -> map((List<?>) entries, key, value, keys, values);
    }
    if (field.isRepeated()) {
      if (!(type instanceof ArrayType array) || field.isMapField()) {
        throw MessageType.misfit(field, type);
      }
      From element = one(field, array.elementType());
      return list ->
          new GenericArrayData(((List<?>) list).stream().map(element::of).toArray());
    }
    return one(field, type);
  }

  private static Object map(List<?> entries, FieldDescriptor key, FieldDescriptor value, From keys, From values) {
    Object[] left = new Object[entries.size()];
    Object[] right = new Object[left.length];
    for (int i = 0; i < left.length; i++) {
      Message entry = (Message) entries.get(i);
      left[i] = keys.of(entry.getField(key));
      right[i] = values.of(entry.getField(value));
    }
    return new ArrayBasedMapData(new GenericArrayData(left), new GenericArrayData(right));
  }

  private static From one(FieldDescriptor field, DataType type) {
    From found =
        switch (field.getJavaType()) {
          case INT -> whole32(MessageType.unsigned(field), type);
          case LONG -> whole64(MessageType.unsigned(field), type);
          case FLOAT ->
            type.equals(DataTypes.DoubleType)
                ? number -> ((Float) number).doubleValue()
                : same(type, DataTypes.FloatType);
          case DOUBLE -> same(type, DataTypes.DoubleType);
          case BOOLEAN -> same(type, DataTypes.BooleanType);
          case STRING -> type.equals(DataTypes.StringType) ? text -> UTF8String.fromString((String) text) : null;
          case BYTE_STRING -> type.equals(DataTypes.BinaryType) ? bytes -> ((ByteString) bytes).toByteArray() : null;
          case ENUM -> named(type);
          case MESSAGE -> message(field.getMessageType(), type);
        };
    if (found == null) {
      throw MessageType.misfit(field, type);
    }
    return found;
  }

  private static From same(DataType type, DataType wanted) {
    return type.equals(wanted) ? value -> value : null;
  }

  private static From whole32(boolean unsigned, DataType type) {
    if (type.equals(DataTypes.LongType)) {
      return unsigned ? number -> Integer.toUnsignedLong((Integer) number) : number -> ((Integer) number).longValue();
    }
    return unsigned ? null : same(type, DataTypes.IntegerType);
  }

  private static From whole64(boolean unsigned, DataType type) {
    if (type instanceof DecimalType decimal && decimal.scale() == 0 && decimal.precision() >= 20) {
      return number ->
          Decimal.apply(new BigInteger(unsigned ? Long.toUnsignedString((Long) number) : number.toString()));
    }
    From plain = same(type, DataTypes.LongType);
    return plain == null || !unsigned ? plain : ProtobufReader::signed;
  }

  private static Object signed(Object number) {
    if ((Long) number < 0) {
      throw new ArithmeticException(Long.toUnsignedString((Long) number) + " is too large for BIGINT");
    }
    return number;
  }

  private static From named(DataType type) {
    if (type.equals(DataTypes.IntegerType)) {
      return value -> ((EnumValueDescriptor) value).getNumber();
    }
    return type.equals(DataTypes.StringType) ? value -> UTF8String.fromString(name((EnumValueDescriptor) value)) : null;
  }

  /** A value that the descriptor does not know has its number for a name. */
  private static String name(EnumValueDescriptor value) {
    return value.getType().findValueByNumber(value.getNumber()) == null ? "" + value.getNumber() : value.getName();
  }

  private static From message(Descriptor message, DataType type) {
    if (type instanceof StructType struct) {
      return new Struct(message, struct);
    }
    if (MessageType.timestamp(message) && type.equals(DataTypes.TimestampType)) {
      FieldDescriptor seconds = message.findFieldByNumber(1);
      FieldDescriptor nanos = message.findFieldByNumber(2);
      return at -> Math.addExact(
          Math.multiplyExact((Long) ((Message) at).getField(seconds), 1_000_000L),
          (Integer) ((Message) at).getField(nanos) / 1000);
    }
    if (MessageType.wrapper(message)) {
      FieldDescriptor inner = message.getFields().get(0);
      From value = one(inner, type);
      return wrapped -> value.of(((Message) wrapped).getField(inner));
    }
    return null;
  }
}
