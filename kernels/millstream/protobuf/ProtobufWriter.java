package millstream.protobuf;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.SpecializedGetters;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.MapData;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.StructType;
import org.sparkproject.spark_core.protobuf.ByteString;
import org.sparkproject.spark_core.protobuf.Descriptors.Descriptor;
import org.sparkproject.spark_core.protobuf.Descriptors.EnumDescriptor;
import org.sparkproject.spark_core.protobuf.Descriptors.EnumValueDescriptor;
import org.sparkproject.spark_core.protobuf.Descriptors.FieldDescriptor;
import org.sparkproject.spark_core.protobuf.DynamicMessage;
import org.sparkproject.spark_core.protobuf.UninitializedMessageException;

/** Writes rows as messages of one type, columns to the fields of their names. What is NULL is left out. */
public final class ProtobufWriter {
  private final Struct row;

  /** What a column's value is in Protobuf. */
  private interface To {
    Object of(SpecializedGetters from, int at);
  }

  public ProtobufWriter(StructType type, String descriptor, String name) {
    row = new Struct(MessageType.find(descriptor, name), type);
  }

  public byte[] write(InternalRow from) {
    try {
      return row.message(from).toByteArray();
    } catch (UninitializedMessageException e) {
      throw new ProtobufException("MS-PROTOBUF-003", "a row cannot be written: " + e.getMessage() + ".");
    }
  }

  private static final class Struct implements To {
    private final Descriptor message;
    private final FieldDescriptor[] fields;
    private final To[] values;

    Struct(Descriptor message, StructType type) {
      this.message = message;
      fields = new FieldDescriptor[type.length()];
      values = new To[fields.length];
      for (int i = 0; i < fields.length; i++) {
        fields[i] = MessageType.field(message, type.fields()[i].name());
        values[i] = to(fields[i], type.fields()[i].dataType());
      }
    }

    DynamicMessage message(InternalRow row) {
      DynamicMessage.Builder built = DynamicMessage.newBuilder(message);
      for (int i = 0; i < fields.length; i++) {
        if (!row.isNullAt(i)) {
          built.setField(fields[i], values[i].of(row, i));
        }
      }
      return built.build();
    }

    @Override
    public Object of(SpecializedGetters from, int at) {
      return message(from.getStruct(at, fields.length));
    }
  }

  private static To to(FieldDescriptor field, DataType type) {
    if (field.isMapField() && type instanceof MapType map) {
      FieldDescriptor key = field.getMessageType().findFieldByNumber(1);
      FieldDescriptor value = field.getMessageType().findFieldByNumber(2);
      To keys = one(key, map.keyType());
      To values = one(value, map.valueType());
      return (from, at) -> entries(field, from.getMap(at), keys, values);
    }
    if (field.isRepeated()) {
      if (!(type instanceof ArrayType array) || field.isMapField()) {
        throw MessageType.misfit(field, type);
      }
      To element = one(field, array.elementType());
      return (from, at) -> elements(field, from.getArray(at), element);
    }
    return one(field, type);
  }

  private static List<Object> elements(FieldDescriptor field, ArrayData array, To element) {
    List<Object> list = new ArrayList<>(array.numElements());
    for (int i = 0; i < array.numElements(); i++) {
      if (array.isNullAt(i)) {
        throw new ProtobufException(
            "MS-PROTOBUF-003",
            "a row has NULL within \"" + field.getFullName() + "\", for which Protobuf has no place.");
      }
      list.add(element.of(array, i));
    }
    return list;
  }

  private static List<Object> entries(FieldDescriptor field, MapData map, To keys, To values) {
    Descriptor entry = field.getMessageType();
    List<Object> left = elements(field, map.keyArray(), keys);
    List<Object> right = elements(field, map.valueArray(), values);
    List<Object> list = new ArrayList<>(left.size());
    for (int i = 0; i < left.size(); i++) {
      list.add(DynamicMessage.newBuilder(entry)
          .setField(entry.findFieldByNumber(1), left.get(i))
          .setField(entry.findFieldByNumber(2), right.get(i))
          .build());
    }
    return list;
  }

  private static To one(FieldDescriptor field, DataType type) {
    To found =
        switch (field.getJavaType()) {
          case INT -> whole32(field, type);
          case LONG -> whole64(field, type);
          case FLOAT -> type.equals(DataTypes.FloatType) ? SpecializedGetters::getFloat : null;
          case DOUBLE -> floating(type);
          case BOOLEAN -> type.equals(DataTypes.BooleanType) ? SpecializedGetters::getBoolean : null;
          case STRING ->
            type.equals(DataTypes.StringType)
                ? (from, at) -> from.getUTF8String(at).toString()
                : null;
          case BYTE_STRING ->
            type.equals(DataTypes.BinaryType) ? (from, at) -> ByteString.copyFrom(from.getBinary(at)) : null;
          case ENUM -> named(field.getEnumType(), type);
          case MESSAGE -> message(field.getMessageType(), type);
        };
    if (found == null) {
      throw MessageType.misfit(field, type);
    }
    return found;
  }

  private static To floating(DataType type) {
    if (type.equals(DataTypes.FloatType)) {
      return (from, at) -> (double) from.getFloat(at);
    }
    return type.equals(DataTypes.DoubleType) ? SpecializedGetters::getDouble : null;
  }

  private static To whole32(FieldDescriptor field, DataType type) {
    if (type.equals(DataTypes.LongType)) {
      boolean unsigned = MessageType.unsigned(field);
      return (from, at) -> {
        long number = from.getLong(at);
        if (unsigned ? number >>> 32 != 0 : number != (int) number) {
          throw unfit(field, number);
        }
        return (int) number;
      };
    }
    if (type.equals(DataTypes.IntegerType)) {
      return (from, at) -> positive(field, from.getInt(at));
    }
    return null;
  }

  private static To whole64(FieldDescriptor field, DataType type) {
    if (type instanceof DecimalType decimal && decimal.scale() == 0 && MessageType.unsigned(field)) {
      return (from, at) -> {
        String digits = from.getDecimal(at, decimal.precision(), 0).toString();
        try {
          return Long.parseUnsignedLong(digits);
        } catch (NumberFormatException e) {
          throw unfit(field, digits);
        }
      };
    }
    if (type.equals(DataTypes.LongType)) {
      return (from, at) -> positive(field, from.getLong(at));
    }
    return type.equals(DataTypes.IntegerType) ? (from, at) -> positive(field, (long) from.getInt(at)) : null;
  }

  private static <N extends Number> N positive(FieldDescriptor field, N number) {
    if (number.longValue() < 0 && MessageType.unsigned(field)) {
      throw unfit(field, number);
    }
    return number;
  }

  private static ProtobufException unfit(FieldDescriptor field, Object value) {
    return new ProtobufException(
        "MS-PROTOBUF-003", "a row cannot be written: " + value + " does not fit \"" + field.getFullName() + "\".");
  }

  private static To named(EnumDescriptor type, DataType column) {
    if (column.equals(DataTypes.IntegerType)) {
      return (from, at) -> type.findValueByNumberCreatingIfUnknown(from.getInt(at));
    }
    if (!column.equals(DataTypes.StringType)) {
      return null;
    }
    return (from, at) -> {
      String name = from.getUTF8String(at).toString();
      EnumValueDescriptor found = type.findValueByName(name);
      if (found == null && name.matches("-?\\d{1,9}")) { // as it is read where the descriptor does not know it
        return type.findValueByNumberCreatingIfUnknown(Integer.parseInt(name));
      }
      if (found == null) {
        throw new ProtobufException(
            "MS-PROTOBUF-003",
            "a row cannot be written: \"" + type.getFullName() + "\" has no value \"" + name + "\".");
      }
      return found;
    };
  }

  private static To message(Descriptor message, DataType type) {
    if (type instanceof StructType struct) {
      return new Struct(message, struct);
    }
    if (MessageType.timestamp(message) && type.equals(DataTypes.TimestampType)) {
      return (from, at) -> {
        long micros = from.getLong(at);
        return DynamicMessage.newBuilder(message)
            .setField(message.findFieldByNumber(1), Math.floorDiv(micros, 1_000_000L))
            .setField(message.findFieldByNumber(2), (int) Math.floorMod(micros, 1_000_000L) * 1000)
            .build();
      };
    }
    if (MessageType.wrapper(message)) {
      FieldDescriptor inner = message.getFields().get(0);
      To value = one(inner, type);
      return (from, at) ->
          DynamicMessage.newBuilder(message).setField(inner, value.of(from, at)).build();
    }
    return null;
  }
}
