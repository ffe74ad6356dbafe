package millstream.lookup;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.broadcast.Broadcast;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.CreateStruct;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.expressions.objects.Invoke;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.types.AbstractDataType;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.ObjectType;
import org.apache.spark.sql.types.StructType;
import scala.Function1;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Rows that do not change, by key, in the memory of every executor. A function of Spark SQL looks rows up in it, so
 * that it can be used anywhere in a router, in real time, too: no shuffle, no state.
 */
public final class LookupTable implements Serializable {
  private static final long serialVersionUID = 1L;
  private static final ArrayData NOTHING = new GenericArrayData(new Object[0]);

  private final StructType keyType;
  private final Broadcast<HashMap<InternalRow, ArrayData>> rows;
  private transient UnsafeProjection asKey;

  private LookupTable(StructType keyType, Broadcast<HashMap<InternalRow, ArrayData>> rows) {
    this.keyType = keyType;
    this.rows = rows;
  }

  /**
   * Lets SQL call {@code name(key, …)} for an array of rows. {@code table}: two columns, the key and the row, both
   * structs.
   */
  public static void register(SparkSession spark, String name, Dataset<Row> table) {
    StructType keyType = (StructType) table.schema().fields()[0].dataType();
    StructType rowType = (StructType) table.schema().fields()[1].dataType();
    HashMap<InternalRow, ArrayData> read = read(table, keyType.length(), rowType.length());
    LookupTable found = new LookupTable(
        keyType, JavaSparkContext.fromSparkContext(spark.sparkContext()).broadcast(read));
    Function1<Seq<Expression>, Expression> call = arguments -> found.call(arguments, rowType);
    spark.sessionState().functionRegistry().createOrReplaceTempFunction(name, call, "scala_udf");
  }

  public static boolean registered(SparkSession spark, String name) {
    return spark.catalog().functionExists(name);
  }

  private static HashMap<InternalRow, ArrayData> read(Dataset<Row> table, int keys, int fields) {
    Map<InternalRow, List<Object>> grouped = new HashMap<>();
    for (InternalRow row : table.queryExecution().executedPlan().executeCollect()) {
      InternalRow key = row.getStruct(0, keys);
      if (!key.anyNull()) {
        grouped
            .computeIfAbsent(key.copy(), one -> new ArrayList<>())
            .add(row.getStruct(1, fields).copy());
      }
    }
    HashMap<InternalRow, ArrayData> read = new HashMap<>(grouped.size() * 2);
    grouped.forEach((key, rows) -> read.put(key, new GenericArrayData(rows.toArray())));
    return read;
  }

  /** Not deterministic as far as Spark knows: it must not be called once more for each place that reads its result. */
  private Expression call(Seq<Expression> key, StructType rowType) {
    Seq<Expression> arguments = CollectionConverters.asScala(List.<Expression>of(CreateStruct.apply(key)))
        .toSeq();
    Seq<AbstractDataType> anyType =
        CollectionConverters.asScala(List.<AbstractDataType>of()).toSeq();
    Literal self = new Literal(this, new ObjectType(LookupTable.class));
    return new Invoke(self, "rows", new ArrayType(rowType, false), arguments, anyType, false, false, false);
  }

  /** The rows of a key; none, if a part of it is NULL. */
  public ArrayData rows(InternalRow key) {
    if (asKey == null) {
      asKey = UnsafeProjection.create(keyType);
    }
    UnsafeRow wanted = asKey.apply(key);
    ArrayData found = wanted.anyNull() ? null : rows.value().get(wanted);
    return found == null ? NOTHING : found;
  }
}
