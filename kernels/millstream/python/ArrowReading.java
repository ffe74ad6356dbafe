package millstream.python;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.vector.FieldVector;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.arrow.vector.ipc.ArrowStreamReader;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.ArrowUtils;
import org.apache.spark.sql.vectorized.ArrowColumnVector;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarBatch;

/** Rows that came from Python, as Spark's own. */
public final class ArrowReading {
  private final String name;
  private final UnsafeProjection projection;

  public ArrowReading(String name, StructType schema) {
    this.name = name;
    this.projection = UnsafeProjection.create(schema);
  }

  /** All rows of an Arrow stream, each its own row that may be kept. */
  public List<InternalRow> rows(byte[] stream) {
    List<InternalRow> found = new ArrayList<>();
    try (Views rows = views(stream)) {
      rows.forEachRemaining(row -> found.add(kept(row)));
    }
    return found;
  }

  /** A row of a stream as one that may be kept. */
  public InternalRow kept(InternalRow row) {
    return projection.apply(row).copy();
  }

  /** The same, each only good until the next step: they lie in the stream still. */
  public Views views(byte[] stream) {
    return new Views(name, stream);
  }

  /** Goes over the rows of a stream. After the last, the stream is closed. */
  public static final class Views implements Iterator<InternalRow>, AutoCloseable {
    private final BufferAllocator allocator;
    private final ArrowStreamReader reader;
    private Iterator<InternalRow> rows = Collections.emptyIterator();
    private boolean closed;

    private Views(String name, byte[] stream) {
      allocator = ArrowUtils.rootAllocator().newChildAllocator(name, 0, Long.MAX_VALUE);
      reader = new ArrowStreamReader(new ByteArrayInputStream(stream), allocator);
    }

    @Override
    public boolean hasNext() {
      try {
        while (!closed && !rows.hasNext()) {
          if (reader.loadNextBatch()) {
            rows = batch(reader.getVectorSchemaRoot()).rowIterator();
          } else {
            close();
          }
        }
      } catch (IOException error) {
        throw new UncheckedIOException(error);
      }
      return !closed;
    }

    @Override
    public InternalRow next() {
      if (!hasNext()) {
        throw new NoSuchElementException();
      }
      return rows.next();
    }

    /** It may be closed again. */
    @Override
    public void close() {
      if (!closed) {
        closed = true;
        try (allocator) {
          reader.close();
        } catch (IOException error) {
          throw new UncheckedIOException(error);
        }
      }
    }
  }

  private static ColumnarBatch batch(VectorSchemaRoot root) {
    List<FieldVector> vectors = root.getFieldVectors();
    ColumnVector[] columns = new ColumnVector[vectors.size()];
    for (int i = 0; i < columns.length; i++) {
      columns[i] = new ArrowColumnVector(vectors.get(i));
    }
    return new ColumnarBatch(columns, root.getRowCount());
  }
}
