package millstream.process;

import java.io.Serializable;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.function.LongConsumer;
import millstream.metrics.Counts;
import millstream.operator.Moment;
import millstream.python.ArrowReading;
import millstream.python.ArrowReading.Views;
import millstream.python.ArrowWriting;
import millstream.python.Feeder;
import millstream.python.Worker;
import millstream.python.WorkerPlace;
import millstream.row.Change;
import millstream.state.ClockTimers;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.statefulprocessor.ImplicitGroupingKeyTracker;
import org.apache.spark.sql.streaming.StatefulProcessorHandle;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.util.TaskCompletionListener;

/**
 * What is handed to a Python process in one go: rows and timers of many keys, each key with its state.
 *
 * <pre>
 *   clock, keys with state, rows ─▶ Python ─▶ rows, changes of state and timers
 *                                   Python ─▶ a question after state that is too large to hand over ─▶ the answer
 * </pre>
 */
final class Load {
  private static final int ROWS = 8_192;
  static final int KEYS = 2_048;
  private static final byte DONE = 'D';

  /** What a process runs, and the types of what goes there and comes back. */
  record Code(WorkerPlace place, byte[] command, StructType key, int[] keySlots, StructType row, StructType output)
      implements Serializable {}

  /** A key of the load, as it is written in state; what is to be done; and how many of the rows are its own. */
  private record Key(UnsafeRow row, int kind, long at, int count) {}

  private final String step;
  private final Code code;
  private final ProcessState state;
  private final StatefulProcessorHandle handle;
  private final ClockTimers clock;
  private final Counts counts;
  private final Worker worker;
  private final ArrowWriting rows;
  private final ArrowWriting groups;
  private final ArrowReading outputs;
  private final ArrowReading changes;
  /** Where the timers stand in a row that tells what changed. */
  private final int timers;

  private final List<Key> keys = new ArrayList<>();
  private Views results;

  /**
   * Starts the process, or takes one that is there, until the task ends; {@code clock}: NULL if it sets no such timers.
   */
  Load(String step, Code code, ProcessState state, StatefulProcessorHandle handle, ClockTimers clock, Counts counts) {
    this.step = step;
    this.code = code;
    this.state = state;
    this.handle = handle;
    this.clock = clock;
    this.counts = counts;
    this.worker = Worker.start(step, code.place, code.command);
    this.rows = new ArrowWriting(step, code.row);
    this.groups = new ArrowWriting(step, groupType());
    this.outputs = new ArrowReading(step, code.output);
    this.changes = new ArrowReading(step, changeType());
    this.timers = 1 + state.changed().length();
    ArrowWriting[] opened = {rows, groups};
    TaskCompletionListener closing = context -> {
      if (!Feeder.stopAll(context)) {
        return;
      }
      for (ArrowWriting part : opened) {
        part.close();
      }
      if (results != null) {
        results.close();
      }
    };
    TaskContext.get().addTaskCompletionListener(closing);
  }

  private StructType groupType() {
    StructType type = new StructType()
        .add("key", code.key)
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
    return type.add("timers", DataTypes.createArrayType(DataTypes.LongType))
        .add("untimers", DataTypes.createArrayType(DataTypes.LongType))
        .add("clocks", DataTypes.createArrayType(DataTypes.LongType))
        .add("unclocks", DataTypes.createArrayType(DataTypes.LongType));
  }

  boolean isEmpty() {
    return keys.isEmpty();
  }

  /** How many rows it has. */
  int rows() {
    return rows.rows();
  }

  /** How many more rows fit in. */
  int room() {
    return ROWS - rows.rows();
  }

  /** Whether another key fits in. */
  boolean takesKeys() {
    return keys.size() < KEYS;
  }

  /** Adds a row, of the key that is added after its rows. */
  void add(InternalRow row) {
    rows.write(row);
  }

  /** Adds the key that is set. {@code count}: how many of the rows are its own, the last ones. */
  void addKey(int kind, long at, int count) {
    keys.add(new Key(state.values().key(), kind, at, count));
  }

  /** Hands it to Python and takes the results; afterwards it is empty, and the key that was set is set again. */
  Iterator<Change> hand(InternalRow current, Moment moment) {
    byte[] now = ByteBuffer.allocate(Long.BYTES * 2)
        .putLong(moment.watermark())
        .putLong(moment.now())
        .array();
    writeGroups();
    worker.send(now, groups.take(), rows.take());
    byte[] answer = worker.receive();
    while (answer[0] != DONE) {
      worker.send(asked(ByteBuffer.wrap(answer)));
      answer = worker.receive();
    }
    counts.skipped += ByteBuffer.wrap(answer, 1, Long.BYTES).getLong();
    results = outputs.views(worker.receive());
    try (Views changed = changes.views(worker.receive())) {
      changed.forEachRemaining(this::apply);
    }
    keys.clear();
    ImplicitGroupingKeyTracker.setImplicitKey(current);
    return new Results(results);
  }

  /** The keys, each with its state. */
  private void writeGroups() {
    var kept = state.values().get(keys.stream().map(Key::row).toList());
    Object[] values = new Object[4 + state.sent().length()];
    for (Key key : keys) {
      Object[] parts = new Object[code.keySlots.length];
      for (int i = 0; i < parts.length; i++) {
        int slot = code.keySlots[i];
        parts[i] = key.row.isNullAt(slot) ? null : key.row.get(slot, code.key.fields()[i].dataType());
      }
      values[0] = new GenericInternalRow(parts);
      values[1] = key.kind;
      values[2] = key.at;
      values[3] = key.count;
      if (state.hasCollections()) {
        ImplicitGroupingKeyTracker.setImplicitKey(key.row);
      }
      state.read(kept.next(), values, 4);
      groups.write(new GenericInternalRow(values));
    }
  }

  /** The rows that Python gave, as they lie in its message. */
  private record Results(Iterator<InternalRow> rows) implements Iterator<Change> {
    @Override
    public boolean hasNext() {
      return rows.hasNext();
    }

    @Override
    public Change next() {
      return new Change(rows.next(), 1);
    }
  }

  private void apply(InternalRow told) {
    Key key = keys.get(told.getInt(0));
    InternalRow change = state.hasCollections() ? changes.kept(told) : told;
    ImplicitGroupingKeyTracker.setImplicitKey(key.row);
    state.apply(key.row, change, 1);
    each(change.getArray(timers + 1), handle::deleteTimer);
    each(change.getArray(timers), handle::registerTimer);
    each(change.getArray(timers + 3), time -> clock.delete(time));
    each(change.getArray(timers + 2), this::setClock);
  }

  private void setClock(long time) {
    clock.set(time);
    counts.timersSet++;
  }

  private static void each(ArrayData times, LongConsumer act) {
    for (int i = 0; i < times.numElements(); i++) {
      act.accept(times.getLong(i));
    }
  }

  /**
   * What Python wants to know of a list or map that is too large to hand over: {@code 'L' or 'M' or 'G', group, which}.
   */
  private byte[] asked(ByteBuffer question) {
    byte kind = question.get();
    ImplicitGroupingKeyTracker.setImplicitKey(keys.get(question.getInt()).row);
    int which = question.getInt();
    boolean list = kind == 'L';
    try (ArrowWriting answer = new ArrowWriting(step, list ? state.item(which) : state.entry(which))) {
      if (kind == 'G') {
        byte[] wanted = new byte[question.remaining()];
        question.get(wanted);
        for (InternalRow key : new ArrowReading(step, state.mapKey(which)).rows(wanted)) {
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
}
