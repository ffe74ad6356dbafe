package millstream.protobuf;

import java.util.ArrayList;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.types.DataType;
import org.sparkproject.spark_core.protobuf.DescriptorProtos.FileDescriptorProto;
import org.sparkproject.spark_core.protobuf.DescriptorProtos.FileDescriptorSet;
import org.sparkproject.spark_core.protobuf.Descriptors.Descriptor;
import org.sparkproject.spark_core.protobuf.Descriptors.DescriptorValidationException;
import org.sparkproject.spark_core.protobuf.Descriptors.FieldDescriptor;
import org.sparkproject.spark_core.protobuf.Descriptors.FileDescriptor;
import org.sparkproject.spark_core.protobuf.InvalidProtocolBufferException;

/** A type of messages, found by its name in what {@code protoc --descriptor_set_out --include_imports} writes. */
final class MessageType {
  private static final String WELL_KNOWN = "google.protobuf.";

  private MessageType() {}

  static Descriptor find(String base64, String name) {
    Map<String, FileDescriptor> files = files(base64);
    List<String> there = new ArrayList<>();
    for (FileDescriptor file : files.values()) {
      for (Descriptor type : file.getMessageTypes()) {
        if (type.getFullName().equals(name)) {
          return type;
        }
        if (!type.getFullName().startsWith(WELL_KNOWN)) {
          there.add(type.getFullName());
        }
      }
    }
    throw new ProtobufException(
        "MS-PROTOBUF-001",
        "there is no message \"" + name + "\" in the descriptor, which has: " + String.join(", ", there) + ".");
  }

  private static Map<String, FileDescriptor> files(String base64) {
    Map<String, FileDescriptor> files = new LinkedHashMap<>();
    try {
      // A file comes after those that it imports.
      for (FileDescriptorProto file :
          FileDescriptorSet.parseFrom(Base64.getDecoder().decode(base64)).getFileList()) {
        List<FileDescriptor> imported = new ArrayList<>();
        for (String dependency : file.getDependencyList()) {
          if (!files.containsKey(dependency)) {
            throw new ProtobufException(
                "MS-PROTOBUF-001",
                "the descriptor lacks " + dependency + ", which it imports: make it by protoc --include_imports.");
          }
          imported.add(files.get(dependency));
        }
        files.put(file.getName(), FileDescriptor.buildFrom(file, imported.toArray(new FileDescriptor[0])));
      }
    } catch (InvalidProtocolBufferException | DescriptorValidationException e) {
      throw new ProtobufException("MS-PROTOBUF-001", "what was given as a descriptor is none: " + e.getMessage());
    }
    return files;
  }

  /** The field that a column is read from or written to. */
  static FieldDescriptor field(Descriptor type, String column) {
    FieldDescriptor found = type.findFieldByName(column);
    for (FieldDescriptor field : type.getFields()) {
      if (found == null && field.getName().equalsIgnoreCase(column)) {
        found = field;
      }
    }
    if (found == null) {
      throw new ProtobufException(
          "MS-PROTOBUF-002",
          "message \"" + type.getFullName() + "\" has no field for column \""
              + column + "\"; it has: "
              + String.join(
                  ", ", type.getFields().stream().map(FieldDescriptor::getName).toList())
              + ".");
    }
    return found;
  }

  static boolean timestamp(Descriptor type) {
    return type.getFullName().equals(WELL_KNOWN + "Timestamp");
  }

  /** Messages around one plain value, so that it can be missing: {@code google.protobuf.StringValue}. */
  static boolean wrapper(Descriptor type) {
    return type.getFullName().startsWith(WELL_KNOWN)
        && type.getName().endsWith("Value")
        && type.getFields().size() == 1;
  }

  static boolean unsigned(FieldDescriptor field) {
    return switch (field.getType()) {
      case UINT32, FIXED32, UINT64, FIXED64 -> true;
      default -> false;
    };
  }

  static ProtobufException misfit(FieldDescriptor field, DataType type) {
    String kind = field.getType().name().toLowerCase(java.util.Locale.ROOT);
    return new ProtobufException(
        "MS-PROTOBUF-002",
        "field \"" + field.getFullName() + "\" is of Protobuf's type " + kind + (field.isRepeated() ? ", repeated" : "")
            + ", which does not fit a column of type " + type.sql() + ".");
  }
}
