package millstream.stage;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.Arrays;
import java.util.Collections;
import java.util.Iterator;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.streaming.StatefulProcessorHandle;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/** Groups rows by key and keeps figures of each group; a changed result takes back the one before. */
final class Aggregate extends Operator {
  private static final long serialVersionUID = 1L;

  private final StructField[] keys;
  private final int[] keySlots;
  /** The first one counts the rows of the group: at zero, the group is gone. */
  private final Accumulator[] accumulators;

  /** Whether there is a result even of no rows: that of a group by nothing. */
  private final boolean always;

  private final GroupState group;
  /** Whether the rows are those of windows: one that comes after the window's end is late. Of results of windows none is. */
  private final boolean windows;
  /** Whether only the last result is sent, when the group ends. */
  private final boolean last;

  /** So many figures are nobody's result: if only the number of rows changes, there may be nothing to tell. */
  private final int hidden;

  private final int port;
  /** How many fields the payload has. */
  private final int width;
  private final StructType stateType;
  private final boolean combines;

  Aggregate(OperatorSpec spec) {
    super(spec.name(), spec.upserts());
    JsonNode closing = spec.json().path("closing");
    this.group = GroupState.of(spec, "allowed_ms");
    this.windows = !closing.isMissingNode() && !closing.path("silent").asBoolean();
    this.last = closing.path("final").asBoolean();
    this.always = spec.flag("always");
    this.hidden = spec.flag("counted") ? 0 : 1;
    this.port = spec.port();
    this.width = spec.input(0).length();
    this.keys = spec.keys();
    this.keySlots = spec.keySlots();
    this.accumulators = Accumulators.of(spec.json().get("accumulators"), spec.input(0));
    StructType fields = new StructType();
    for (Accumulator accumulator : accumulators) {
      accumulator.saved = fields.length();
      fields = accumulator.state(fields);
    }
    this.stateType = fields;
    this.combines = Arrays.stream(accumulators).allMatch(Accumulator::combines);
  }

  static Aggregate of(OperatorSpec spec) {
    return new Aggregate(spec);
  }

  @Override
  StructType outputType() {
    StructType type = new StructType();
    for (int i = 0; i < keys.length; i++) {
      type = type.add("k" + i, keys[i].dataType(), true);
    }
    for (int i = 0; i < accumulators.length; i++) {
      type = type.add("a" + i, accumulators[i].resultType(), true);
    }
    return type;
  }

  @Override
  void open(StatefulProcessorHandle handle) {
    group.open(handle, name + "_group", stateType);
    for (Accumulator accumulator : accumulators) {
      accumulator.open(handle, this);
    }
  }

  int keySlot() {
    return keySlots[0];
  }

  int port() {
    return port;
  }

  @Override
  boolean seeded() {
    return always;
  }

  @Override
  boolean combines() {
    return combines;
  }

  @Override
  Iterator<Change> process(InternalRow key, Changes changes) {
    if (windows && group.over(key, watermark)) {
      return late(changes);
    }
    InternalRow saved = group.load(key, ended);
    load(saved);
    Object[] before = saved == null || last ? null : result(key);
    while (changes.next()) {
      InternalRow payload = changes.payload();
      if (payload != null) {
        add(accumulators, payload, changes.weight());
      }
    }
    if (rows() < 0) {
      throw absent("a row");
    }
    Object[] after = last && !group.ends() ? null : result(key);
    if (group.ends()) {
      drop();
    } else {
      save();
    }
    return changed(before, after).iterator();
  }

  private Iterator<Change> late(Changes changes) {
    while (changes.next()) {
      late(changes.payload().getLong(0));
    }
    return Collections.emptyIterator();
  }

  /** The group's time is over: a last result, if it was held back, and no more state. */
  @Override
  Iterator<Change> expired(InternalRow key, long at) {
    InternalRow saved = group.load();
    if (saved == null) {
      return Collections.emptyIterator();
    }
    load(saved);
    Object[] result = last ? result(key) : null;
    drop();
    return result == null ? Collections.emptyIterator() : List.of(new Change(row(result), 1)).iterator();
  }

  private void drop() {
    for (Accumulator accumulator : accumulators) {
      accumulator.drop();
    }
    group.save(null);
  }

  private void load(InternalRow saved) {
    for (Accumulator accumulator : accumulators) {
      accumulator.load(saved);
    }
  }

  static void add(Accumulator[] figures, InternalRow payload, long weight) {
    for (Accumulator figure : figures) {
      figure.add(payload, weight);
    }
  }

  @Override
  Partial partial() {
    Accumulator[] figures = new Accumulator[accumulators.length];
    for (int i = 0; i < figures.length; i++) {
      figures[i] = accumulators[i].fresh();
    }
    return new Figures(figures, width);
  }

  /** Figures of their own. */
  private record Figures(Accumulator[] figures, int width) implements Partial {
    @Override
    public void add(InternalRow payload, long weight) {
      Aggregate.add(figures, payload, weight);
    }

    @Override
    public int size() {
      return 1;
    }

    @Override
    public List<Change> rows() {
      return List.of(new Change(saved(figures, width), 1));
    }
  }

  static InternalRow saved(Accumulator[] figures, int width) {
    Object[] values = new Object[width];
    for (Accumulator figure : figures) {
      figure.save(values);
    }
    return new GenericInternalRow(values);
  }

  private long rows() {
    return ((Count) accumulators[0]).count();
  }

  private void save() {
    InternalRow values = saved(accumulators, stateType.length());
    group.save(rows() == 0 && !always ? null : values);
  }

  private Object[] result(InternalRow key) {
    if (rows() <= 0 && !always) {
      return null;
    }
    Object[] values = new Object[keys.length + accumulators.length];
    for (int i = 0; i < keys.length; i++) {
      values[i] = key.isNullAt(keySlots[i]) ? null : key.get(keySlots[i], keys[i].dataType());
    }
    for (int i = hidden; i < accumulators.length; i++) {
      values[keys.length + i] = accumulators[i].result();
    }
    return values;
  }

  private List<Change> changed(Object[] before, Object[] after) {
    if (Arrays.deepEquals(before, after)) {
      return List.of();
    }
    return replaced(row(before), row(after));
  }

  private static InternalRow row(Object[] values) {
    return values == null ? null : new GenericInternalRow(values);
  }
}
