package millstream.row;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.analysis.Analyzer;
import org.apache.spark.sql.catalyst.encoders.ExpressionEncoder;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.types.StructType;
import scala.collection.immutable.Seq;

/**
 * Rows of state, as {@link InternalRowEncoder} hands them over, by an encoder that is resolved and bound once per
 * schema and process.
 *
 * <p>Spark does so for every state variable of every task, which goes through its analyzer: with small epochs, that was
 * most of the time to open a stage.
 */
public final class BoundRowEncoder extends ExpressionEncoder<InternalRow> {
  private static final long serialVersionUID = 1L;

  /** More than a process ever has, unless it runs job after job. */
  private static final int MOST = 1000;

  private static final Map<StructType, BoundRowEncoder> KNOWN = new ConcurrentHashMap<>();

  private final StructType schema;
  private final ExpressionEncoder<InternalRow> bound;

  private BoundRowEncoder(StructType schema, ExpressionEncoder<InternalRow> unbound) {
    super(unbound.encoder(), unbound.objSerializer(), unbound.objDeserializer());
    this.schema = schema;
    this.bound = unbound.resolveAndBind(unbound.resolveAndBind$default$1(), unbound.resolveAndBind$default$2());
  }

  public static BoundRowEncoder of(StructType schema) {
    if (KNOWN.size() > MOST) {
      KNOWN.clear();
    }
    return KNOWN.computeIfAbsent(
        schema, type -> new BoundRowEncoder(type, ExpressionEncoder.apply(new InternalRowEncoder(type))));
  }

  /** As it was given: Spark's own, which its constructor asks for, may treat other fields as nullable. */
  @Override
  public StructType schema() {
    return schema == null ? super.schema() : schema;
  }

  @Override
  public ExpressionEncoder<InternalRow> resolveAndBind(Seq<Attribute> attributes, Analyzer analyzer) {
    return bound;
  }

  /** It is, though there is a bound one inside. */
  @Override
  public void assertUnresolved() {}
}
