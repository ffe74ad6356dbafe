package millstream.stage;

import java.util.Collections;
import java.util.HashMap;
import java.util.Iterator;
import java.util.Map;
import java.util.NoSuchElementException;
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
 * <p>This is what makes hot keys harmless. When the table is full it is emptied into the shuffle and filled anew.
 */
final class Combine implements MapPartitionsFunction<InternalRow, InternalRow> {
  private static final long serialVersionUID = 1L;
  private static final int KEYS = 16_384;
  /** Figures of one key may be many: distinct values. */
  private static final int ROWS = 65_536;
  /** After so many rows it is known whether keys repeat; where they hardly do, merging is only in the way. */
  private static final int SAMPLE = 4_096;

  private static final double MOST_DISTINCT = 0.5;

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
        return routed.as(encoder).mapPartitions(new Combine(layout, operators), encoder).toDF();
      }
    }
    return routed;
  }

  @Override
  public Iterator<InternalRow> call(Iterator<InternalRow> rows) {
    return new Table(rows);
  }

  /** The figures of one key, and the payload column that they came in. */
  private record Entry(int port, Accumulator[] figures) {}

  private final class Table implements Iterator<InternalRow> {
    private final Iterator<InternalRow> rows;
    private final UnsafeProjection keyOf = UnsafeProjection.create(layout.keyType());
    private Map<UnsafeRow, Entry> entries = new HashMap<>();
    private Iterator<Map.Entry<UnsafeRow, Entry>> out = Collections.emptyIterator();
    private InternalRow through;
    private int merged;
    private int held;
    private boolean worthIt = true;

    Table(Iterator<InternalRow> rows) {
      this.rows = rows;
    }

    @Override
    public boolean hasNext() {
      while (through == null && !out.hasNext() && (rows.hasNext() || !entries.isEmpty())) {
        fill();
      }
      return through != null || out.hasNext();
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
        merge((Aggregate) operator, row);
      }
      if (entries.isEmpty()) {
        through = rows.next();
        return;
      }
      out = entries.entrySet().iterator();
      entries = new HashMap<>();
      held = 0;
    }

    private void merge(Aggregate operator, InternalRow row) {
      int port = layout.port(row);
      UnsafeRow key = keyOf.apply(row);
      Entry entry = entries.get(key);
      if (entry == null) {
        entry = new Entry(port, operator.fresh());
        entries.put(key.copy(), entry);
      }
      Aggregate.add(entry.figures(), layout.payload(row, port), layout.weight(row));
      held++;
      merged++;
      if (merged == SAMPLE) {
        worthIt = entries.size() < SAMPLE * MOST_DISTINCT;
      }
    }

    private InternalRow row(UnsafeRow key, Entry entry) {
      Object[] values = new Object[layout.schema.length()];
      for (int i = 0; i < layout.keys; i++) {
        values[i] = key.isNullAt(i) ? null : key.get(i, layout.schema.fields()[i].dataType());
      }
      if (layout.weight > layout.keys) {
        values[layout.keys] = entry.port();
      }
      values[layout.weight] = 1L;
      int width = layout.payloadType(entry.port()).length();
      values[layout.payload + entry.port()] = Aggregate.saved(entry.figures(), width);
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
      Map.Entry<UnsafeRow, Entry> entry = out.next();
      return row(entry.getKey(), entry.getValue());
    }
  }
}
