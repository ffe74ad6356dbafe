package millstream.stage;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import millstream.barrier.Barrier;
import millstream.barrier.Gathers;
import millstream.barrier.HearsWatermarks;
import millstream.barrier.TaskBarriers;
import millstream.metrics.CoarseClock;
import millstream.metrics.Counts;
import millstream.metrics.Meters;
import millstream.operator.Moment;
import millstream.operator.Operator;
import millstream.operator.Told;
import millstream.row.Change;
import millstream.row.Changes;
import millstream.row.InternalRowEncoder;
import millstream.row.Layout;
import millstream.state.Declared;
import millstream.state.Opened;
import millstream.state.Timers;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.statefulprocessor.ImplicitGroupingKeyTracker;
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.statefulprocessor.StatefulProcessorHandleImplBase;
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.statefulprocessor.StatefulProcessorHandleState;
import org.apache.spark.sql.streaming.ExpiredTimerInfo;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.streaming.StatefulProcessor;
import org.apache.spark.sql.streaming.TimeMode;
import org.apache.spark.sql.streaming.TimerValues;
import scala.Tuple2;

/** Hosts all operators of one level of the dataflow, and hands each group of rows to the one its tag names. */
public final class Stage extends StatefulProcessor<InternalRow, InternalRow, InternalRow>
    implements Gathers, HearsWatermarks {
  private static final long serialVersionUID = 1L;

  private final Layout layout;
  private final Operator[] operators;
  private final StageOutput output;
  /** Whether rows were merged before the shuffle, and counted there. */
  private final boolean combine;
  /** On the driver. */
  private final transient Meters meters;
  /** The watermark of the epoch before; where barriers flow, of the last that has passed. */
  private long before;
  /** Whether rows come one by one, and not all of a key at once. */
  private boolean oneByOne;

  private transient boolean timed;
  private transient Timers timers;
  /** NULL: the task runs without barriers. */
  private transient TaskBarriers barriers;
  /** Where barriers flow, the operators that gather rows. */
  private transient List<Operator> gathering;

  private Stage(Layout layout, Operator[] operators, boolean combine, Meters meters) {
    this.layout = layout;
    this.operators = operators;
    this.combine = combine;
    this.meters = meters;
    this.output = new StageOutput(operators);
  }

  /**
   * A stage of these operators, for rows that are routed to them; {@code combine}: merge rows of the same key before
   * the shuffle.
   */
  public static Stage of(Dataset<Row> routed, String told, boolean combine) {
    Layout layout = new Layout(routed.schema());
    Operator[] operators = StageSpec.operators(told, layout, routed.sparkSession());
    Meters meters = Meters.of(routed.sparkSession());
    for (Operator operator : operators) {
      operator.count(meters.operator(operator.name));
    }
    // A task's last row has nothing but a tag.
    boolean nulls = Arrays.stream(operators).anyMatch(Operator::gathers);
    return new Stage(nulls ? new Layout(routed.schema().asNullable()) : layout, operators, combine, meters);
  }

  /** Whether any of its operators gathers rows: then each task is given last rows, whose tags are above all others. */
  public boolean gathersRows() {
    return Arrays.stream(operators).anyMatch(Operator::gathers);
  }

  /** Lets people look at what an operator sends on, as {@code sql} says that its readers see it. */
  public void show(int operator, String sql, SparkSession spark) {
    output.show(operator, Shown.of(operators[operator], sql, meters, spark));
  }

  /** The state variables that each operator declares, as JSON by its name. */
  public String declared() {
    Map<String, List<Declared.Variable>> found = new LinkedHashMap<>();
    for (Operator operator : operators) {
      found.put(operator.name, operator.declared());
    }
    return Told.json(found).toString();
  }

  /** Puts the stage on top of the rows. */
  public Dataset<Row> apply(Dataset<Row> routed, boolean timed) {
    Dataset<Row> combined = combine ? Combine.apply(routed, layout, operators) : routed;
    Dataset<Row> input = EndOfInput.apply(Seed.apply(combined, layout, operators), layout, operators);
    return input
        .groupBy(keyColumns(input, layout))
        .as(new InternalRowEncoder(layout.keyType()), new InternalRowEncoder(layout.schema))
        .transformWithState(
            this,
            timed ? TimeMode.EventTime() : TimeMode.None(),
            OutputMode.Update(),
            new InternalRowEncoder(output.type()))
        .toDF();
  }

  /** Told on the driver, when an epoch is planned: its watermark, that of the one before, and how rows will come. */
  public void plan(long watermark, long before, boolean realTime) {
    this.before = before;
    oneByOne = realTime;
    watermark(watermark);
  }

  @Override
  public void watermark(long millis) {
    for (Operator operator : operators) {
      meters.watermark(operator.name, millis);
    }
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
    timers = timed ? Timers.into(getHandle()) : null;
    CoarseClock.runInTask();
    for (Operator operator : operators) {
      operator.open(getHandle());
    }
    // While a query is planned there is no store.
    Opened opened = Opened.of(getHandle());
    barriers = opened == null ? null : TaskBarriers.here();
    if (barriers != null) {
      barriers.state(opened.store());
      if (timers != null) {
        timers.ringAtBarriers();
        barriers.timed(BarrierRow.of(layout.schema));
      }
      gather();
    }
  }

  private void gather() {
    gathering = new ArrayList<>();
    for (Operator operator : operators) {
      if (operator.gathers()) {
        operator.comeOneByOne();
        gathering.add(operator);
      }
    }
    if (!gathering.isEmpty()) {
      barriers.gathers(BarrierRow.of(layout.schema), this);
    }
  }

  @Override
  public long patience() {
    long least = Long.MAX_VALUE;
    for (Operator operator : gathering) {
      least = Math.min(least, operator.patience());
    }
    return least;
  }

  @Override
  public scala.collection.Iterator<InternalRow> handleInputRows(
      InternalRow key, scala.collection.Iterator<InternalRow> rows, TimerValues times) {
    Barrier barrier = barriers == null ? null : barriers.rings();
    if (barrier != null) {
      long last = before;
      before = barrier.watermark();
      return new Gathered(key, last).concat(new Ringing(before, times.getCurrentProcessingTimeInMs()));
    }
    if (barriers != null && barriers.flushes()) {
      return new Gathered(key, before);
    }
    int tag = layout.operator(key);
    boolean last = tag >= operators.length;
    int index = last ? tag - operators.length : tag;
    Operator operator = operators[index];
    long watermark = timed ? Moment.known(times.getCurrentWatermarkInMs()) : Moment.NEVER;
    boolean follows = barriers != null || operator.follows();
    Moment moment = new Moment(
        follows ? Moment.known(before) : watermark,
        follows && !oneByOne ? watermark : Moment.NEVER,
        barriers != null && operator.gathers() ? System.currentTimeMillis() : times.getCurrentProcessingTimeInMs());
    Counts counts = counting(operator);
    long begun = CoarseClock.nanos();
    Iterator<Change> changes =
        last ? operator.finish(key, index, moment) : operator.process(key, changes(rows, operator), moment);
    counts.nanos += CoarseClock.nanos() - begun;
    return output.rows(index, counts, changes);
  }

  private Changes changes(scala.collection.Iterator<InternalRow> rows, Operator operator) {
    return new Changes(rows, layout, combine && operator.combines() ? null : operator.counts());
  }

  /** What is done from now on, up to the next group, is the operator's. */
  private Counts counting(Operator operator) {
    if (timers != null) {
      timers.count(operator.counts());
    }
    return operator.counts();
  }

  @Override
  public scala.collection.Iterator<InternalRow> handleExpiredTimer(
      InternalRow key, TimerValues times, ExpiredTimerInfo timer) {
    int index = layout.operator(key);
    Operator operator = operators[index];
    long watermark = times.getCurrentWatermarkInMs();
    if (operator.follows() && !allRowsAreThere()) {
      ringAgain(timer.getExpiryTimeInMs(), watermark);
      return scala.collection.Iterator$.MODULE$.empty();
    }
    Moment moment = new Moment(watermark, Moment.NEVER, times.getCurrentProcessingTimeInMs());
    Counts counts = counting(operator);
    counts.timersRung++;
    long begun = CoarseClock.nanos();
    Iterator<Change> changes =
        operator.expired(key, operator.follows() ? watermark : timer.getExpiryTimeInMs(), moment);
    counts.nanos += CoarseClock.nanos() - begun;
    return output.rows(index, counts, changes);
  }

  /** What one timer causes that has rung at a barrier: all that the key has to end by then. */
  private scala.collection.Iterator<InternalRow> ended(InternalRow key, long at, Moment moment) {
    int index = layout.operator(key);
    Operator operator = operators[index];
    Counts counts = counting(operator);
    counts.timersRung++;
    long begun = CoarseClock.nanos();
    Iterator<Change> changes = operator.gathers()
        ? operator.expired(key, at, new Moment(moment.watermark(), Moment.NEVER, System.currentTimeMillis()))
        : operator.expired(key, moment.watermark(), moment);
    counts.nanos += CoarseClock.nanos() - begun;
    return output.rows(index, counts, changes);
  }

  /** What operators that gather have to say of what they have gathered, one after the other. */
  private final class Gathered extends scala.collection.AbstractIterator<InternalRow> {
    private final InternalRow key;
    private final Moment moment;
    private int next;
    private scala.collection.Iterator<InternalRow> rows = scala.collection.Iterator$.MODULE$.empty();

    Gathered(InternalRow key, long watermark) {
      this.key = key;
      moment = new Moment(Moment.known(watermark), Moment.NEVER, System.currentTimeMillis());
    }

    @Override
    public boolean hasNext() {
      while (!rows.hasNext() && next < operators.length) {
        int index = next++;
        Operator operator = operators[index];
        if (operator.gathers()) {
          Counts counts = counting(operator);
          rows = output.rows(index, counts, operator.finish(key, index, moment));
        }
      }
      return rows.hasNext();
    }

    @Override
    public InternalRow next() {
      return rows.next();
    }
  }

  /** Rings when it is asked: by then, rows that were gathered have set their timers. */
  private final class Ringing extends scala.runtime.AbstractFunction0<scala.collection.IterableOnce<InternalRow>> {
    private final long watermark;
    private final long now;

    Ringing(long watermark, long now) {
      this.watermark = watermark;
      this.now = now;
    }

    @Override
    public scala.collection.IterableOnce<InternalRow> apply() {
      return timers == null ? scala.collection.Iterator$.MODULE$.empty() : new Rung(watermark, now);
    }
  }

  /** Lets all timers ring that are due at a barrier, one after the other. */
  private final class Rung extends scala.collection.AbstractIterator<InternalRow> {
    private final Moment moment;
    private final scala.collection.Iterator<Tuple2<Object, Object>> due;
    private Tuple2<Object, Object> timer;
    private scala.collection.Iterator<InternalRow> rows;

    Rung(long watermark, long now) {
      moment = new Moment(Moment.known(watermark), Moment.NEVER, now);
      due = timers.due(watermark);
    }

    /** Spark sets the key of the row that was handed over, on each step. */
    private void setKey() {
      ImplicitGroupingKeyTracker.removeImplicitKey();
      ImplicitGroupingKeyTracker.setImplicitKey(timer._1());
    }

    @Override
    public boolean hasNext() {
      for (; ; ) {
        if (timer != null) {
          setKey();
          if (rows.hasNext()) {
            return true;
          }
          timers.deleteTimer((Long) timer._2());
          timer = null;
        }
        if (!due.hasNext()) {
          return false;
        }
        timer = due.next();
        setKey();
        rows = ended((InternalRow) timer._1(), (Long) timer._2(), moment);
      }
    }

    @Override
    public InternalRow next() {
      setKey();
      return rows.next();
    }
  }

  /** In real time Spark looks for timers after each row, and once more when there are no more. */
  private boolean allRowsAreThere() {
    return ((StatefulProcessorHandleImplBase) getHandle())
        .getHandleState()
        .equals(StatefulProcessorHandleState.DATA_PROCESSED());
  }

  /** Spark takes the timer away that has rung. After the next rows it looks at timers from the watermark on only. */
  private void ringAgain(long at, long watermark) {
    timers.count(null);
    getHandle().registerTimer(at == watermark - 1 ? watermark - 2 : watermark - 1);
  }
}
