package millstream.row;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.encoders.AgnosticExpressionPathEncoder;
import org.apache.spark.sql.catalyst.expressions.BoundReference;
import org.apache.spark.sql.catalyst.expressions.CreateNamedStruct;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GetStructField;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.objects.StaticInvoke;
import org.apache.spark.sql.types.AbstractDataType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.ObjectType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import scala.Option;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;
import scala.reflect.ClassTag;
import scala.reflect.ClassTag$;

/**
 * Hands Spark's own rows to a kernel, and takes them back, with no conversion to Java objects in between.
 *
 * <p>The usual row encoder decodes every string, timestamp and decimal of every row; for a kernel that only moves most
 * columns along, that was the larger part of its cost.
 */
// Spark has no other way to give an encoder expressions of its own, and deprecates this one from birth.
@SuppressWarnings("deprecation")
public final class InternalRowEncoder implements AgnosticExpressionPathEncoder<InternalRow> {
  private static final long serialVersionUID = 1L;

  private final StructType schema;

  public InternalRowEncoder(StructType schema) {
    this.schema = schema;
  }

  @Override
  public boolean isPrimitive() {
    return false;
  }

  @Override
  public boolean nullable() {
    return false;
  }

  @Override
  public DataType dataType() {
    return schema;
  }

  @Override
  public StructType schema() {
    return schema;
  }

  @Override
  public ClassTag<InternalRow> clsTag() {
    return ClassTag$.MODULE$.apply(InternalRow.class);
  }

  /** The object is a row already: its "object" type is the struct itself. */
  @Override
  public Expression toCatalyst(Expression input) {
    return fields(new BoundReference(0, schema, false));
  }

  /**
   * A call that does nothing: it gives the struct an object type that Spark can ask for before the plan is resolved.
   */
  @Override
  public Expression fromCatalyst(Expression path) {
    Seq<Expression> arguments =
        CollectionConverters.asScala(List.of(fields(path))).toSeq();
    Seq<AbstractDataType> anyType =
        CollectionConverters.asScala(List.<AbstractDataType>of()).toSeq();
    DataType type = new ObjectType(InternalRow.class);
    return new StaticInvoke(
        InternalRowEncoder.class, type, "same", arguments, anyType, true, false, true, Option.empty());
  }

  public static InternalRow same(InternalRow row) {
    return row;
  }

  private Expression fields(Expression struct) {
    List<Expression> parts = new ArrayList<>();
    StructField[] all = schema.fields();
    for (int i = 0; i < all.length; i++) {
      parts.add(Literal.create(all[i].name(), DataTypes.StringType));
      parts.add(new GetStructField(struct, i, Option.apply(all[i].name())));
    }
    return new CreateNamedStruct(CollectionConverters.asScala(parts).toSeq());
  }
}
