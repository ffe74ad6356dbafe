package millstream.stage;

import java.util.Collections;
import java.util.HashMap;
import java.util.Iterator;
import java.util.Map;
import java.util.NoSuchElementException;
import millstream.operator.Operator;
import millstream.operator.Partial;
import millstream.row.Change;
import millstream.row.InternalRowEncoder;
import millstream.row.Layout;
import org.apache.spark.api.java.function.MapPartitionsFunction;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;

/**
 * Merges the figures of aggregates per key before the shuffle, in a small hash table per task.
 *
 * <p>This is what makes hot keys harmless. When the table is full it is emptied into the shuffle and filled again.
 */
final class Combine implements MapPartitionsFunction<InternalRow, InternalRow> {
  private static final long serialVersionUID = 1L;
  private static final int KEYS = 16_384;
  /** Figures of one key may be many: distinct values. */
  private static final int ROWS = 65_536;
  /** After this many rows it is known whether keys repeat; where they hardly do, merging does not pay. */
  private static final int SAMPLE = 4_096;

  private static final double MOST_LEFT = 0.5;

  private final Layout layout;
  private final Operator[] operators;

  private Combine(Layout layout, Operator[] operators) {
    this.layout = layout;
    this.operators = operators;
  }

  static Dataset<Row> apply(Dataset<Row> routed, Layout layout, Operator[] operators) {
    for (Operator operator : operators) {
      if (operator.combines()) {
        InternalRowEncoder encoder = new InternalRowEncoder(layout.schema);
        return routed
            .as(encoder)
            .mapPartitions(new Combine(layout, operators), encoder)
            .toDF();
      }
    }
    return routed;
  }

  @Override
  public Iterator<InternalRow> call(Iterator<InternalRow> rows) {
    return new Table(rows);
  }

  /** What is left of the rows of one key, and the payload column that they came in. */
  private record Entry(int port, Partial partial) {}

  private final class Table implements Iterator<InternalRow> {
    private final Iterator<InternalRow> rows;
    private final UnsafeProjection keyOf = UnsafeProjection.create(layout.keyType());
    private Map<UnsafeRow, Entry> entries = new HashMap<>();
    private Iterator<Map.Entry<UnsafeRow, Entry>> out = Collections.emptyIterator();
    private Map.Entry<UnsafeRow, Entry> sending;
    private Iterator<Change> left = Collections.emptyIterator();
    private InternalRow through;
    private int merged;
    private int held;
    private boolean worthIt = true;

    Table(Iterator<InternalRow> rows) {
      this.rows = rows;
    }

    @Override
    public boolean hasNext() {
      while (through == null && !left.hasNext() && (out.hasNext() || rows.hasNext() || !entries.isEmpty())) {
        if (out.hasNext()) {
          sending = out.next();
          left = sending.getValue().partial().rows().iterator();
        } else {
          fill();
        }
      }
      return through != null || left.hasNext();
    }

    /** Reads on until the table is full, the input ends, or a row comes that is not to be merged. */
    private void fill() {
      while (rows.hasNext() && entries.size() < KEYS && held < ROWS && worthIt) {
        InternalRow row = rows.next();
        Operator operator = operators[layout.operator(row)];
        if (!operator.combines()) {
          through = row;
          return;
        }
        operator.counts().rowsIn++;
        merge(operator, row);
      }
      if (entries.isEmpty()) {
        through = counted(rows.next());
        return;
      }
      out = entries.entrySet().iterator();
      entries = new HashMap<>();
      held = 0;
    }

    /** What is merged here is counted here, though this row is not worth merging. */
    private InternalRow counted(InternalRow row) {
      Operator operator = operators[layout.operator(row)];
      if (operator.combines()) {
        operator.counts().rowsIn++;
      }
      return row;
    }

    private void merge(Operator operator, InternalRow row) {
      int port = layout.port(row);
      UnsafeRow key = keyOf.apply(row);
      Entry entry = entries.get(key);
      if (entry == null) {
        entry = new Entry(port, operator.partial());
        entries.put(key.copy(), entry);
      }
      entry.partial().add(layout.payload(row, port), layout.weight(row));
      held++;
      merged++;
      if (merged == SAMPLE) {
        int rowsLeft =
            entries.values().stream().mapToInt(each -> each.partial().size()).sum();
        worthIt = rowsLeft < SAMPLE * MOST_LEFT;
      }
    }

    private InternalRow row(UnsafeRow key, int port, Change change) {
      Object[] values = new Object[layout.schema.length()];
      for (int i = 0; i < layout.keys; i++) {
        values[i] = key.isNullAt(i) ? null : key.get(i, layout.schema.fields()[i].dataType());
      }
      if (layout.weight > layout.keys) {
        values[layout.keys] = port;
      }
      values[layout.weight] = change.weight();
      values[layout.payload + port] = change.row();
      return new GenericInternalRow(values);
    }

    @Override
    public InternalRow next() {
      if (!hasNext()) {
        throw new NoSuchElementException();
      }
      if (through != null) {
        InternalRow row = through;
        through = null;
        return row;
      }
      return row(sending.getKey(), sending.getValue().port(), left.next());
    }
  }
}
