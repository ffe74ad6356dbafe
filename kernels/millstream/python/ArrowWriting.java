package millstream.python;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.arrow.vector.ipc.ArrowStreamWriter;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.execution.arrow.ArrowWriter;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.ArrowUtils;

/** Rows on their way to Python: written one by one, taken as one Arrow batch. */
public final class ArrowWriting implements AutoCloseable {
  private final BufferAllocator allocator;
  private final VectorSchemaRoot root;
  private final ArrowWriter writer;
  private int rows;

  public ArrowWriting(String name, StructType schema) {
    this.allocator = ArrowUtils.rootAllocator().newChildAllocator(name, 0, Long.MAX_VALUE);
    this.root = VectorSchemaRoot.create(ArrowUtils.toArrowSchema(schema, "UTC", true, false, false), allocator);
    this.writer = ArrowWriter.create(root);
  }

  public void write(InternalRow row) {
    writer.write(row);
    rows++;
  }

  public int rows() {
    return rows;
  }

  /** The rows so far as an Arrow stream; the next ones begin another. */
  public byte[] take() {
    writer.finish();
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try (ArrowStreamWriter stream = new ArrowStreamWriter(root, null, bytes)) {
      stream.writeBatch();
      stream.end();
      return bytes.toByteArray();
    } catch (IOException error) {
      throw new UncheckedIOException(error);
    } finally {
      writer.reset();
      rows = 0;
    }
  }

  @Override
  public void close() {
    root.close();
    allocator.close();
  }
}
