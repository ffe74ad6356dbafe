package millstream.save;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import millstream.parquet.ParquetFile;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.catalyst.expressions.BoundReference;
import org.apache.spark.sql.catalyst.expressions.CreateNamedStruct;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GetStructField;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.Murmur3Hash;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.expressions.XXH64;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.NullType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.Platform;
import scala.Option;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * One list of a savepoint, in files by ranges of the hash of a key.
 *
 * <pre>
 *   value   key, value            map      key, entry, value
 *   list    key, index, value     timers   key, at_ms
 * </pre>
 */
final class SavedList {
  /** A file of the list: keys of one range of hashes. */
  record Part(int range, String path, long rows) {}

  final ListSpec spec;
  /** The row's types as they are in state. */
  final StructType type;
  /** The types in the file: Parquet has none for what is always NULL. */
  private final StructType written;

  private final StructType stageKey;
  private final StageState.Family family;
  private final ParquetFile[] files;
  private final long[] rows;
  private final AtomicLong fingerprint = new AtomicLong();

  SavedList(ListSpec spec, StageState stage, int ranges) {
    this.spec = spec;
    this.stageKey = stage.key;
    this.family = stage.families.get(spec.family());
    if (family == null) {
      throw new IllegalStateException("there is no state " + spec.family());
    }
    this.type = type();
    this.written = (StructType) without(type);
    this.files = new ParquetFile[ranges];
    this.rows = new long[ranges];
  }

  private StructType type() {
    StructType key = new StructType();
    for (ListSpec.Key part : spec.keys()) {
      key = key.add(part.name(), stageKey.fields()[part.at()].dataType());
    }
    StructType whole = new StructType().add("key", key, false);
    return switch (spec.kind()) {
      case "value" -> whole.add("value", family.value());
      case "list" -> whole.add("index", DataTypes.LongType, false).add("value", family.value());
      case "map" -> whole.add("entry", family.key().apply("userKey").dataType()).add("value", family.value());
      case "timers" -> whole.add("at_ms", DataTypes.LongType, false);
      default -> throw new IllegalArgumentException("no list of kind " + spec.kind());
    };
  }

  /** What is always NULL is written as a NULL boolean. */
  static DataType without(DataType type) {
    if (type instanceof NullType) {
      return DataTypes.BooleanType;
    }
    if (type instanceof ArrayType array) {
      return new ArrayType(without(array.elementType()), array.containsNull());
    }
    if (type instanceof MapType map) {
      return new MapType(without(map.keyType()), without(map.valueType()), map.valueContainsNull());
    }
    if (type instanceof StructType struct) {
      StructType out = new StructType();
      for (StructField field : struct.fields()) {
        out = out.add(field.name(), without(field.dataType()), field.nullable(), field.metadata());
      }
      return out;
    }
    return type;
  }

  /** What a thread needs to make rows of the list. */
  SavedRows rows() {
    return new SavedRows(this, stageKey, family);
  }

  /** Of a row with the stage's key, an entry's key, a number and the value. */
  Seq<Expression> columns() {
    List<Expression> out = new ArrayList<>();
    out.add(key());
    switch (spec.kind()) {
      case "list", "timers" -> out.add(new BoundReference(2, DataTypes.LongType, false));
      case "map" -> out.add(new BoundReference(1, family.key().apply("userKey").dataType(), true));
      default -> {}
    }
    if (!spec.kind().equals("timers")) {
      out.add(new BoundReference(3, family.value(), true));
    }
    return CollectionConverters.asScala(out).toSeq();
  }

  private Expression key() {
    List<Expression> parts = new ArrayList<>();
    for (ListSpec.Key part : spec.keys()) {
      parts.add(Literal.create(part.name(), DataTypes.StringType));
      parts.add(part(part));
    }
    return new CreateNamedStruct(CollectionConverters.asScala(parts).toSeq());
  }

  private Expression part(ListSpec.Key part) {
    return new GetStructField(
        new BoundReference(0, stageKey, false), part.at(), Option.apply(stageKey.fields()[part.at()].name()));
  }

  /** Spark's {@code hash} of the operator's own key columns. */
  Seq<Expression> hash() {
    List<Expression> parts = new ArrayList<>();
    spec.keys().forEach(part -> parts.add(part(part)));
    Expression hash = new Murmur3Hash(CollectionConverters.asScala(parts).toSeq(), 42);
    return CollectionConverters.asScala(List.of(hash)).toSeq();
  }

  void add(int hash, UnsafeRow row) throws IOException {
    fingerprint.addAndGet(XXH64.hashUnsafeBytes(row.getBaseObject(), row.getBaseOffset(), row.getSizeInBytes(), 42L));
    int range = (int) (((hash - (long) Integer.MIN_VALUE) * files.length) >>> 32);
    synchronized (this) {
      file(range).write(row);
      rows[range]++;
    }
  }

  private ParquetFile file(int range) throws IOException {
    if (files[range] == null) {
      files[range] = new ParquetFile(new Path(path(range)), written, "ZSTD");
    }
    return files[range];
  }

  private String path(int range) {
    return String.format("%s/%03d.parquet", spec.folder(), range);
  }

  /** A state variable without rows has a file, too, so that readers find its columns. */
  List<Part> close() throws IOException {
    if (count() == 0 && !spec.kind().equals("timers")) {
      file(0);
    }
    List<Part> parts = new ArrayList<>();
    for (int range = 0; range < files.length; range++) {
      if (files[range] != null) {
        ParquetFile file = files[range];
        files[range] = null;
        file.close();
        parts.add(new Part(range, path(range), rows[range]));
      }
    }
    return parts;
  }

  /** Discards what is half written. */
  void abandon() {
    for (ParquetFile file : files) {
      try {
        if (file != null) {
          file.close();
        }
      } catch (IOException | RuntimeException error) {
        // Its end cannot be written either; its writer knows already.
      }
    }
  }

  long count() {
    long sum = 0;
    for (long part : rows) {
      sum += part;
    }
    return sum;
  }

  /** The same for the same rows in whatever order. */
  long fingerprint() {
    return fingerprint.get();
  }

  static UnsafeRow pointed(byte[] bytes, int fields) {
    UnsafeRow row = new UnsafeRow(fields);
    row.pointTo(bytes, Platform.BYTE_ARRAY_OFFSET, bytes.length);
    return row;
  }
}
