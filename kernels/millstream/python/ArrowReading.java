package millstream.python;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
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
    try (BufferAllocator allocator = ArrowUtils.rootAllocator().newChildAllocator(name, 0, Long.MAX_VALUE);
        ArrowStreamReader reader = new ArrowStreamReader(new ByteArrayInputStream(stream), allocator)) {
      while (reader.loadNextBatch()) {
        Iterator<InternalRow> rows = batch(reader.getVectorSchemaRoot()).rowIterator();
        while (rows.hasNext()) {
          found.add(projection.apply(rows.next()).copy());
        }
      }
      return found;
    } catch (IOException error) {
      throw new UncheckedIOException(error);
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
