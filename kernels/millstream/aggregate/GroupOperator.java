package millstream.aggregate;

import java.util.List;
import millstream.operator.Operator;
import millstream.operator.OperatorSpec;
import millstream.operator.Seeded;
import org.apache.spark.sql.types.StructType;

/** Groups rows by key; its results are the key and the figures of the group. */
public abstract class GroupOperator extends Operator implements Seeded {
  private static final long serialVersionUID = 1L;

  protected final GroupFigures figures;
  private final int port;

  /**
   * {@code counted}: whether a result needs the number of rows; {@code always}: whether there is one even without rows.
   */
  protected GroupOperator(OperatorSpec spec, List<Accumulators.Told> accumulators, boolean counted, boolean always) {
    super(spec.name(), spec.upserts());
    this.figures = new GroupFigures(spec.keys(), spec.keySlots(), accumulators, spec.input(0), counted, always);
    this.port = spec.port();
  }

  @Override
  public final StructType outputType() {
    return figures.outputType();
  }

  @Override
  public final boolean seeded() {
    return figures.always();
  }

  @Override
  public final int keySlot() {
    return figures.keySlot();
  }

  @Override
  public final int port() {
    return port;
  }
}
