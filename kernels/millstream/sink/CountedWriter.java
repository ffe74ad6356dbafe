package millstream.sink;

import java.io.IOException;
import millstream.metrics.Counts;
import org.apache.spark.sql.catalyst.InternalRow;

/** Counts the records that are written, and their bytes. */
final class CountedWriter implements TaskWriter {
  private final TaskWriter to;
  private final Counts counts;

  CountedWriter(TaskWriter to, Counts counts) {
    this.to = to;
    this.counts = counts;
  }

  @Override
  public void write(byte[] key, byte[] value) throws IOException {
    to.write(key, value);
    count(key, value);
  }

  @Override
  public void write(byte[] key, byte[] value, InternalRow row) throws IOException {
    to.write(key, value, row);
    count(key, value);
  }

  private void count(byte[] key, byte[] value) {
    counts.rowsOut++;
    counts.bytes += (key == null ? 0 : key.length) + (value == null ? 0 : value.length);
  }

  @Override
  public Prepared prepare() throws IOException {
    return to.prepare();
  }

  @Override
  public void abort() throws IOException {
    to.abort();
  }
}
