package millstream.stage;

import com.fasterxml.jackson.databind.JsonNode;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Base64;
import java.util.Collections;
import java.util.Comparator;
import java.util.Deque;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.Set;
import java.util.function.LongConsumer;
import millstream.python.ArrowReading;
import millstream.python.ArrowWriting;
import millstream.python.Worker;
import millstream.python.WorkerPlace;
import millstream.stage.ClockTimers.Due;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.statefulprocessor.ImplicitGroupingKeyTracker;
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.statefulprocessor.StatefulProcessorHandleImpl;
import org.apache.spark.sql.streaming.StatefulProcessorHandle;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.util.LongAccumulator;
import org.apache.spark.util.TaskCompletionListener;
import scala.Option;

/**
 * A user's Python code with state.
 *
 * <p>Rows of many keys are gathered, each key with its state, and handed to a Python process in one go; what comes back
 * is rows and changes of state. So a key costs no round trip of its own. The rows that are left when the input ends are
 * handed over by {@link #finish}, for which each task gets a last row (see {@link Last}).
 */
final class Process extends Operator {
  private static final long serialVersionUID = 1L;
  private static final int ROWS = 8_192;
  private static final int KEYS = 2_048;
  private static final byte DONE = 'D';
  private static final int ROWS_OF_KEY = 0;
  private static final int TIMER = 1;
  private static final int CLOCK = 2;

  private final StructType row;
  private final StructType output;
  private final StructType keyType;
  private final int[] keySlots;
  private final Layout layout;
  private final WorkerPlace place;
  private final byte[] command;
  private final ProcessState state;
  private LongAccumulator skipped;

  private final boolean clocked;
  /** The field of a row with its event time; -1: none. */
  private final int time;

  private transient StatefulProcessorHandle handle;
  private transient ClockTimers clock;
  private transient Worker worker;
  private transient ArrowWriting rows;
  private transient ArrowWriting groups;
  private transient ArrowReading outputs;
  private transient ArrowReading changes;
  private transient List<InternalRow> keys;
  private transient Deque<Due> done;

  private Process(OperatorSpec spec) {
    super(spec.name(), false);
    JsonNode json = spec.json();
    this.row = spec.input(0);
    this.output = ProcessState.struct(json.get("output"));
    this.keySlots = spec.keySlots();
    StructType named = new StructType();
    for (int i = 0; i < keySlots.length; i++) {
      named = named.add("k" + i, spec.keys()[i].dataType());
    }
    this.keyType = named;
    this.layout = spec.layout();
    this.place = WorkerPlace.of(json.get("place"));
    this.command = Base64.getDecoder().decode(json.get("command").asText());
    this.state = new ProcessState(json.get("state"));
    this.clocked = spec.flag("clocked");
    this.time = json.path("time").asInt(-1);
  }

  static Operator of(OperatorSpec spec) {
    return new Process(spec);
  }

  void countSkipped(LongAccumulator counter) {
    skipped = counter;
  }

  @Override
  StructType outputType() {
    return output;
  }

  @Override
  boolean gathers() {
    return true;
  }

  @Override
  void open(StatefulProcessorHandle opened) {
    handle = opened;
    keys = new ArrayList<>();
    done = null;
    worker = null;
    state.open(opened, name);
    clock = clocked ? ClockTimers.of(opened) : null;
  }

  private StructType groupType() {
    StructType type =
        new StructType()
            .add("key", keyType)
            .add("kind", DataTypes.IntegerType)
            .add("at", DataTypes.LongType)
            .add("rows", DataTypes.IntegerType);
    for (var field : state.sent().fields()) {
      type = type.add(field);
    }
    return type;
  }

  private StructType changeType() {
    StructType type = new StructType().add("group", DataTypes.IntegerType);
    for (var field : state.changed().fields()) {
      type = type.add(field);
    }
    return type
        .add("timers", DataTypes.createArrayType(DataTypes.LongType))
        .add("untimers", DataTypes.createArrayType(DataTypes.LongType))
        .add("clocks", DataTypes.createArrayType(DataTypes.LongType))
        .add("unclocks", DataTypes.createArrayType(DataTypes.LongType));
  }

  private void start() {
    if (worker != null) {
      return;
    }
    worker = Worker.start(name, place, command);
    rows = new ArrowWriting(name, row);
    groups = new ArrowWriting(name, groupType());
    outputs = new ArrowReading(name, output);
    changes = new ArrowReading(name, changeType());
    ArrowWriting[] opened = {rows, groups};
    TaskCompletionListener closing =
        context -> {
          for (ArrowWriting part : opened) {
            part.close();
          }
        };
    TaskContext.get().addTaskCompletionListener(closing);
  }

  @Override
  Iterator<Change> process(InternalRow key, Changes input) {
    start();
    return new Gathering(key.copy(), input);
  }

  /** Takes the rows of a key in; gives the results of a full load when there is one. */
  private final class Gathering implements Iterator<Change> {
    private final InternalRow key;
    private final Changes input;
    private Iterator<Change> out = Collections.emptyIterator();

    Gathering(InternalRow key, Changes input) {
      this.key = key;
      this.input = input;
    }

    @Override
    public boolean hasNext() {
      while (!out.hasNext() && take()) {
        if (rows.rows() >= ROWS || keys.size() >= KEYS) {
          out = flush(key).iterator();
        }
      }
      return out.hasNext();
    }

    /** Rows of the key up to a full load; whether there were any. */
    private boolean take() {
      int before = rows.rows();
      if (time < 0) {
        while (rows.rows() < ROWS && input.next()) {
          rows.write(input.payload());
        }
      } else {
        inOrder(ROWS - before).forEach(rows::write);
      }
      int taken = rows.rows() - before;
      if (taken > 0) {
        gather(key, ROWS_OF_KEY, 0, taken);
      }
      return taken > 0;
    }

    /** So many rows of the key, in the order of their time: the shuffle has brought them in any. Those without come first. */
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

  /** Adds a key to the load, with its state; the key is set. */
  private void gather(InternalRow key, int kind, long at, int count) {
    Object[] values = new Object[4 + state.sent().length()];
    Object[] parts = new Object[keySlots.length];
    for (int i = 0; i < parts.length; i++) {
      int slot = keySlots[i];
      parts[i] = key.isNullAt(slot) ? null : key.get(slot, layout.schema.fields()[slot].dataType());
    }
    values[0] = new GenericInternalRow(parts);
    values[1] = kind;
    values[2] = at;
    values[3] = count;
    state.read(values, 4);
    groups.write(new GenericInternalRow(values));
    keys.add(key);
  }

  /** The rest of the load, and the timers by the clock that have come. */
  @Override
  Iterator<Change> finish(InternalRow key, int operator) {
    List<Change> rest = keys.isEmpty() ? List.of() : flush(key);
    List<Due> due = clock == null ? List.of() : clock.due(layout, operator, now);
    if (due.isEmpty()) {
      return rest.iterator();
    }
    start();
    return new Firing(key.copy(), due, CLOCK, rest.iterator());
  }

  /** Hands the load to Python and takes its results; afterwards the key that was set is set again. */
  private List<Change> flush(InternalRow current) {
    byte[] clock = ByteBuffer.allocate(Long.BYTES * 2).putLong(watermark).putLong(now).array();
    worker.send(clock, groups.take(), rows.take());
    byte[] answer = worker.receive();
    while (answer[0] != DONE) {
      worker.send(asked(ByteBuffer.wrap(answer)));
      answer = worker.receive();
    }
    skipped.add(ByteBuffer.wrap(answer, 1, Long.BYTES).getLong());
    List<InternalRow> found = outputs.rows(worker.receive());
    for (InternalRow change : changes.rows(worker.receive())) {
      apply(change);
    }
    keys.clear();
    ImplicitGroupingKeyTracker.setImplicitKey(current);
    List<Change> out = new ArrayList<>(found.size());
    for (InternalRow result : found) {
      out.add(new Change(result, 1));
    }
    return out;
  }

  private void apply(InternalRow change) {
    ImplicitGroupingKeyTracker.setImplicitKey(keys.get(change.getInt(0)));
    state.apply(change, 1);
    int at = 1 + state.changed().length();
    each(change.getArray(at + 1), handle::deleteTimer);
    each(change.getArray(at), handle::registerTimer);
    each(change.getArray(at + 3), time -> clock.delete(time));
    each(change.getArray(at + 2), time -> clock.set(time));
  }

  private static void each(ArrayData times, LongConsumer act) {
    for (int i = 0; i < times.numElements(); i++) {
      act.accept(times.getLong(i));
    }
  }

  /** What Python wants to know of a list or map that is too large to hand over: {@code 'L' or 'M' or 'G', group, which}. */
  private byte[] asked(ByteBuffer question) {
    byte kind = question.get();
    ImplicitGroupingKeyTracker.setImplicitKey(keys.get(question.getInt()));
    int which = question.getInt();
    boolean list = kind == 'L';
    try (ArrowWriting answer = new ArrowWriting(name, list ? state.item(which) : state.entry(which))) {
      if (kind == 'G') {
        byte[] wanted = new byte[question.remaining()];
        question.get(wanted);
        for (InternalRow key : new ArrowReading(name, state.mapKey(which)).rows(wanted)) {
          InternalRow entry = state.entry(which, key);
          if (entry != null) {
            answer.write(entry);
          }
        }
      } else {
        (list ? state.list(which) : state.entries(which)).forEachRemaining(answer::write);
      }
      return answer.take();
    }
  }

  /** The first timer that has come brings all others with it; Spark names them again, one by one, in the same order. */
  @Override
  Iterator<Change> expired(InternalRow key, long at) {
    start();
    if (done == null) {
      List<Due> due = due(layout.operator(key));
      done = new ArrayDeque<>(due);
      done.poll();
      return new Firing(key.copy(), due, TIMER, Collections.emptyIterator());
    }
    Due next = done.peek();
    if (next != null && next.at() == at && next.key().equals(key)) {
      done.poll();
      return Collections.emptyIterator();
    }
    gather(key.copy(), TIMER, at, 0);
    return flush(key).iterator();
  }

  private List<Due> due(int operator) {
    StatefulProcessorHandleImpl opened = (StatefulProcessorHandleImpl) handle;
    return ClockTimers.due(opened.getExpiredTimers(watermark, Option.empty()), layout, operator);
  }

  /** Timers that have come, a load at a time. A key's timers come in order: a load has each key once. */
  private final class Firing implements Iterator<Change> {
    private final InternalRow current;
    private final int kind;
    private final Deque<Due> waiting;
    private Iterator<Change> out;

    Firing(InternalRow current, List<Due> due, int kind, Iterator<Change> before) {
      this.current = current;
      this.kind = kind;
      this.out = before;
      this.waiting = new ArrayDeque<>(due);
    }

    @Override
    public boolean hasNext() {
      while (!out.hasNext() && !waiting.isEmpty()) {
        load();
        out = flush(current).iterator();
      }
      return out.hasNext();
    }

    private void load() {
      Set<InternalRow> loaded = new HashSet<>();
      while (!waiting.isEmpty() && keys.size() < KEYS && loaded.add(waiting.peek().key())) {
        Due timer = waiting.poll();
        ImplicitGroupingKeyTracker.setImplicitKey(timer.key());
        gather(timer.key(), kind, timer.at(), 0);
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
