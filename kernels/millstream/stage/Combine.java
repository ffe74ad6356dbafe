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

  private final class Table implements Iterator<InternalRow> {
    private final Iterator<InternalRow> rows;
    private final UnsafeProjection keyOf = UnsafeProjection.create(layout.keyType());
    private final Map<UnsafeRow, Object[]> figures = new HashMap<>();
    private Iterator<InternalRow> out = Collections.emptyIterator();
    private InternalRow through;

    Table(Iterator<InternalRow> rows) {
      this.rows = rows;
    }

    @Override
    public boolean hasNext() {
      while (through == null && !out.hasNext() && (rows.hasNext() || !figures.isEmpty())) {
        fill();
      }
      return through != null || out.hasNext();
    }

    /** Reads on until the table is full, the input ends, or a row comes that is not to be merged. */
    private void fill() {
      while (rows.hasNext() && figures.size() < KEYS) {
        InternalRow row = rows.next();
        Operator operator = operators[layout.operator(row)];
        if (!operator.combines()) {
          through = row;
          return;
        }
        merge((Aggregate) operator, row);
      }
      Map<UnsafeRow, Object[]> full = new HashMap<>(figures);
      figures.clear();
      out = full.entrySet().stream().map(entry -> row(entry.getKey(), entry.getValue())).iterator();
    }

    private void merge(Aggregate operator, InternalRow row) {
      UnsafeRow key = keyOf.apply(row);
      Object[] before = figures.get(key);
      int port = layout.port(row);
      operator.load(before == null ? null : new GenericInternalRow((Object[]) before[0]));
      operator.add(layout.payload(row, port), layout.weight(row));
      Object[] after = operator.figures();
      if (before == null) {
        figures.put(key.copy(), new Object[] {after, port});
      } else {
        before[0] = after;
      }
    }

    private InternalRow row(UnsafeRow key, Object[] merged) {
      Object[] values = new Object[layout.schema.length()];
      for (int i = 0; i < layout.keys; i++) {
        values[i] = key.isNullAt(i) ? null : key.get(i, layout.schema.fields()[i].dataType());
      }
      if (layout.weight > layout.keys) {
        values[layout.keys] = merged[1];
      }
      values[layout.weight] = 1L;
      values[layout.payload + (int) merged[1]] = new GenericInternalRow((Object[]) merged[0]);
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
      return out.next();
    }
  }
}
