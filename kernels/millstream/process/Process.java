package millstream.process;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Base64;
import java.util.Collections;
import java.util.Comparator;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import millstream.operator.Moment;
import millstream.operator.Operator;
import millstream.operator.OperatorSpec;
import millstream.python.WorkerPlace;
import millstream.row.Change;
import millstream.row.Changes;
import millstream.row.Layout;
import millstream.state.ClockTimers;
import millstream.state.ClockTimers.Due;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.statefulprocessor.ImplicitGroupingKeyTracker;
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.statefulprocessor.StatefulProcessorHandleImpl;
import org.apache.spark.sql.streaming.StatefulProcessorHandle;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import scala.Option;

/**
 * A user's Python code with state.
 *
 * <p>Rows of many keys are gathered, each key with its state, and handed to a Python process in one go; what comes back
 * is rows and changes of state. So a key costs no round trip of its own. The rows that are left when the input ends are
 * handed over by {@link #finish}, for which each task gets a last row (see {@code EndOfInput}). In real time rows come
 * one by one and wait for others (see {@link Waiting}).
 */
public final class Process extends Operator {
  private static final long serialVersionUID = 1L;
  static final int ROWS_OF_KEY = 0;
  private static final int TIMER = 1;
  private static final int CLOCK = 2;
  /** In real time: how often it looks for timers by the clock. */
  private static final long LOOK_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

  private final Load.Code code;
  private final Layout layout;
  private final ProcessState state;
  private final boolean clocked;
  /** The field of a row with its event time; -1: none. */
  private final int time;

  private final long waitMillis;

  private transient StatefulProcessorHandle handle;
  private transient ClockTimers clock;
  /** NULL: nothing has come yet. */
  private transient Load load;

  /** Where rows come one by one: those that are not in a load yet; NULL: all of a key come at once. */
  private transient Waiting waiting;

  private transient long looked;
  private transient Deque<Due> done;

  /**
   * Its settings. Types are Spark's, as JSON.
   *
   * @param values the row that holds all that is small
   * @param output rows of the result
   * @param command what the Python process is to run, in base64
   * @param python which Python that is
   * @param time a row's field with its event time; NULL: none
   * @param clocked whether it sets timers by the clock
   * @param waitMs in real time, how long rows may wait for others to go with
   */
  public record Told(
      String values,
      List<ProcessState.ListTold> lists,
      List<ProcessState.MapTold> maps,
      String output,
      String command,
      String python,
      Map<String, String> environment,
      String time,
      boolean clocked,
      long waitMs) {}

  public Process(OperatorSpec spec, Told told) {
    super(spec.name(), false);
    StructType key = new StructType();
    for (StructField part : spec.keys()) {
      key = key.add("k" + key.length(), part.dataType());
    }
    this.code = new Load.Code(
        new WorkerPlace(told.python, new HashMap<>(told.environment)),
        Base64.getDecoder().decode(told.command),
        key,
        spec.keySlots(),
        spec.input(0),
        ProcessState.struct(told.output));
    this.layout = spec.layout();
    this.state = new ProcessState(told.values, told.lists, told.maps);
    this.clocked = told.clocked;
    this.waitMillis = told.waitMs;
    this.time = told.time == null ? -1 : code.row().fieldIndex(told.time);
  }

  @Override
  public StructType outputType() {
    return code.output();
  }

  @Override
  public boolean gathers() {
    return true;
  }

  @Override
  public void open(StatefulProcessorHandle opened) {
    handle = opened;
    done = null;
    load = null;
    state.open(opened, name);
    clock = clocked ? ClockTimers.of(opened) : null;
  }

  @Override
  public void comeOneByOne() {
    waiting = new Waiting(waitMillis);
    looked = System.nanoTime();
  }

  @Override
  public long patience() {
    long rows = waiting.patience();
    return clock == null ? rows : Math.min(rows, looked + LOOK_NANOS - System.nanoTime());
  }

  private void start() {
    if (load == null) {
      load = new Load(name, code, state, handle, clock, counts);
    }
  }

  @Override
  public Iterator<Change> process(InternalRow key, Changes input, Moment moment) {
    start();
    if (waiting == null) {
      return new Gathering(key, input, moment);
    }
    while (input.next()) {
      waiting.add(key, input.payload());
    }
    return waiting.isFull() ? waiting.hand(load, key.copy(), moment) : Collections.emptyIterator();
  }

  /** Takes the rows of a key in; gives the results of a full load when there is one. */
  private final class Gathering implements Iterator<Change> {
    private final InternalRow key;
    private final Changes input;
    private final Moment moment;
    private Iterator<Change> out = Collections.emptyIterator();

    Gathering(InternalRow key, Changes input, Moment moment) {
      this.key = key;
      this.input = input;
      this.moment = moment;
    }

    @Override
    public boolean hasNext() {
      while (!out.hasNext() && take()) {
        if (load.room() == 0 || !load.takesKeys()) {
          out = load.hand(key, moment);
        }
      }
      return out.hasNext();
    }

    /** Rows of the key up to a full load; whether there were any. */
    private boolean take() {
      int before = load.rows();
      if (time < 0) {
        while (load.room() > 0 && input.next()) {
          load.add(input.payload());
        }
      } else {
        inOrder(load.room()).forEach(load::add);
      }
      int taken = load.rows() - before;
      if (taken > 0) {
        load.addKey(ROWS_OF_KEY, 0, taken);
      }
      return taken > 0;
    }

    /**
     * Up to {@code most} rows of the key, in the order of their time: the shuffle brings them in any order. Rows
     * without a time come first.
     */
    private List<InternalRow> inOrder(int most) {
      List<InternalRow> found = new ArrayList<>();
      while (found.size() < most && input.next()) {
        found.add(input.payload().copy());
      }
      found.sort(Comparator.comparingLong(each -> each.isNullAt(time) ? Long.MIN_VALUE : each.getLong(time)));
      return found;
    }

    @Override
    public Change next() {
      if (!hasNext()) {
        throw new NoSuchElementException();
      }
      return out.next();
    }
  }

  /** The rest of the load, and the timers by the clock that have come. */
  @Override
  public Iterator<Change> finish(InternalRow key, int operator, Moment moment) {
    done = null;
    looked = System.nanoTime();
    Iterator<Change> rest = rest(key.copy(), moment);
    List<Due> due = clock == null ? List.of() : clock.due(layout, operator, moment.now());
    if (due.isEmpty()) {
      return rest;
    }
    start();
    counts.timersRung += due.size();
    return new Firing(key.copy(), due, CLOCK, rest, moment);
  }

  private Iterator<Change> rest(InternalRow key, Moment moment) {
    if (waiting != null && !waiting.isEmpty()) {
      return waiting.hand(load, key, moment);
    }
    return load == null || load.isEmpty() ? Collections.emptyIterator() : load.hand(key, moment);
  }

  /** The first timer that has come brings all others with it; Spark names them again, one by one, in the same order. */
  @Override
  public Iterator<Change> expired(InternalRow key, long at, Moment moment) {
    start();
    if (done == null) {
      List<Due> due = due(layout.operator(key), moment);
      done = new ArrayDeque<>(due);
      done.poll();
      return new Firing(key.copy(), due, TIMER, Collections.emptyIterator(), moment);
    }
    Due next = done.peek();
    if (next != null && next.at() == at && next.key().equals(key)) {
      done.poll();
      return Collections.emptyIterator();
    }
    load.addKey(TIMER, at, 0);
    return load.hand(key, moment);
  }

  private List<Due> due(int operator, Moment moment) {
    StatefulProcessorHandleImpl opened = (StatefulProcessorHandleImpl) handle;
    return ClockTimers.due(opened.getExpiredTimers(moment.watermark(), Option.empty()), layout, operator);
  }

  /** Timers that have come, a load at a time. A key's timers come in order: a load has each key once. */
  private final class Firing implements Iterator<Change> {
    private final InternalRow current;
    private final int kind;
    private final Deque<Due> left;
    private final Moment moment;
    private Iterator<Change> out;

    Firing(InternalRow current, List<Due> due, int kind, Iterator<Change> before, Moment moment) {
      this.current = current;
      this.kind = kind;
      this.out = before;
      this.left = new ArrayDeque<>(due);
      this.moment = moment;
    }

    @Override
    public boolean hasNext() {
      while (!out.hasNext() && !left.isEmpty()) {
        take();
        out = load.hand(current, moment);
      }
      return out.hasNext();
    }

    private void take() {
      Set<InternalRow> loaded = new HashSet<>();
      while (!left.isEmpty() && load.takesKeys() && loaded.add(left.peek().key())) {
        Due timer = left.poll();
        ImplicitGroupingKeyTracker.setImplicitKey(timer.key());
        load.addKey(kind, timer.at(), 0);
        if (kind == CLOCK) {
          // Spark takes its own timers away itself.
          clock.delete(timer.at());
        }
      }
    }

    @Override
    public Change next() {
      if (!hasNext()) {
        throw new NoSuchElementException();
      }
      return out.next();
    }
  }
}
