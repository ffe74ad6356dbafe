package millstream.stage;

import java.util.Arrays;
import java.util.Iterator;
import millstream.python.Skipped;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.statefulprocessor.StatefulProcessorHandleImplBase;
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.statefulprocessor.StatefulProcessorHandleState;
import org.apache.spark.sql.streaming.ExpiredTimerInfo;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.streaming.StatefulProcessor;
import org.apache.spark.sql.streaming.TimeMode;
import org.apache.spark.sql.streaming.TimerValues;
import org.apache.spark.sql.types.StructType;

/** Hosts all operators of one level of the dataflow, and hands each group of rows to the one its tag names. */
public final class Stage extends StatefulProcessor<InternalRow, InternalRow, InternalRow> {
  private static final long serialVersionUID = 1L;

  private final Layout layout;
  private final Operator[] operators;
  /** The watermark of the epoch before. */
  private long before;
  /** Whether rows come one by one, and not all of a key at once. */
  private boolean oneByOne;

  private transient boolean timed;

  private Stage(Layout layout, Operator[] operators) {
    this.layout = layout;
    this.operators = operators;
  }

  /** Puts a stage on top of routed rows; {@code combine}: merge rows of the same key before the shuffle. */
  public static Dataset<Row> apply(Dataset<Row> routed, String spec, boolean combine, boolean timed) {
    // A task's last row has nothing but a tag.
    Operator[] first = StageSpec.operators(spec, new Layout(routed.schema()), routed.sparkSession());
    boolean gathers = Arrays.stream(first).anyMatch(Operator::gathers);
    Layout layout = new Layout(gathers ? routed.schema().asNullable() : routed.schema());
    Operator[] operators = StageSpec.operators(spec, layout, routed.sparkSession());
    for (Operator operator : operators) {
      operator.countLate(Late.counter(routed.sparkSession(), operator.name));
      if (operator instanceof Process process) {
        process.countSkipped(Skipped.counter(routed.sparkSession(), operator.name));
      }
    }
    Dataset<Row> combined = combine ? Combine.apply(routed, layout, operators) : routed;
    Dataset<Row> input = Last.apply(Seed.apply(combined, layout, operators), layout, operators);
    StructType output = Layout.outputType(operators);
    return input
        .groupBy(keyColumns(input, layout))
        .as(new InternalRowEncoder(layout.keyType()), new InternalRowEncoder(layout.schema))
        .transformWithState(
            new Stage(layout, operators),
            timed ? TimeMode.EventTime() : TimeMode.None(),
            OutputMode.Update(),
            new InternalRowEncoder(output))
        .toDF();
  }

  /** Told on the driver, when an epoch is planned: the watermark of the one before, and how rows will come. */
  public void plan(long watermark, boolean realTime) {
    before = watermark;
    oneByOne = realTime;
  }

  private static Column[] keyColumns(Dataset<Row> input, Layout layout) {
    Column[] columns = new Column[layout.keys];
    for (int i = 0; i < columns.length; i++) {
      columns[i] = input.col(layout.schema.fields()[i].name());
    }
    return columns;
  }

  @Override
  public void init(OutputMode outputMode, TimeMode timeMode) {
    timed = timeMode.equals(TimeMode.EventTime());
    if (timed) {
      Timers.into(getHandle());
    }
    for (Operator operator : operators) {
      operator.open(getHandle());
    }
  }

  @Override
  public scala.collection.Iterator<InternalRow> handleInputRows(
      InternalRow key, scala.collection.Iterator<InternalRow> rows, TimerValues timers) {
    int tag = layout.operator(key);
    boolean last = tag >= operators.length;
    int index = last ? tag - operators.length : tag;
    Operator operator = operators[index];
    long watermark = timed ? timers.getCurrentWatermarkInMs() : Long.MIN_VALUE;
    operator.watermark = operator.follows ? before : watermark;
    operator.ended = operator.follows && !oneByOne ? watermark : Long.MIN_VALUE;
    operator.now = timers.getCurrentProcessingTimeInMs();
    return new Tagged(index, last ? operator.finish(key, index) : operator.process(key, new Changes(rows, layout)));
  }

  @Override
  public scala.collection.Iterator<InternalRow> handleExpiredTimer(
      InternalRow key, TimerValues timers, ExpiredTimerInfo timer) {
    int index = layout.operator(key);
    Operator operator = operators[index];
    long watermark = timers.getCurrentWatermarkInMs();
    if (operator.follows && !allRowsAreThere()) {
      ringAgain(timer.getExpiryTimeInMs(), watermark);
      return scala.collection.Iterator$.MODULE$.empty();
    }
    operator.watermark = watermark;
    operator.now = timers.getCurrentProcessingTimeInMs();
    return new Tagged(index, operator.expired(key, operator.follows ? watermark : timer.getExpiryTimeInMs()));
  }

  /** In real time Spark looks for timers after each row, and once more when there are no more. */
  private boolean allRowsAreThere() {
    return ((StatefulProcessorHandleImplBase) getHandle())
        .getHandleState()
        .equals(StatefulProcessorHandleState.DATA_PROCESSED());
  }

  /** Spark takes the timer away that has rung. After the next rows it looks at timers from the watermark on only. */
  private void ringAgain(long at, long watermark) {
    getHandle().registerTimer(at == watermark - 1 ? watermark - 2 : watermark - 1);
  }

  /** Puts an operator's changes into the stage's output columns. */
  private final class Tagged extends scala.collection.AbstractIterator<InternalRow> {
    private final int index;
    private final Iterator<Change> changes;

    Tagged(int index, Iterator<Change> changes) {
      this.index = index;
      this.changes = changes;
    }

    @Override
    public boolean hasNext() {
      return changes.hasNext();
    }

    @Override
    public InternalRow next() {
      Change change = changes.next();
      if (operators.length == 1) {
        return new GenericInternalRow(new Object[] {change.weight(), change.row()});
      }
      Object[] values = new Object[2 + operators.length];
      values[0] = index;
      values[1] = change.weight();
      values[2 + index] = change.row();
      return new GenericInternalRow(values);
    }
  }
}
