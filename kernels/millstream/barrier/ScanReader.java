package millstream.barrier;

import java.io.IOException;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.metric.CustomTaskMetric;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.streaming.PartitionOffset;
import org.apache.spark.sql.connector.read.streaming.SupportsRealTimeRead;
import org.apache.spark.sql.vectorized.ColumnarBatch;

/** Reads a partition of a source, and lets barriers pass between two records. */
final class ScanReader implements SupportsRealTimeRead<InternalRow> {
  /** How long it waits for a record before it looks for a barrier: where rows come, and where none has for a while. */
  private static final long SLICE_MILLIS = 5;

  private static final long QUIET_SLICE_MILLIS = 20;
  private static final long QUIET_NANOS = 1_000_000_000;

  private static final RecordStatus NONE = RecordStatus.newStatusWithoutArrivalTime(false);

  /** {@code id}: which source it is. */
  record Factory(PartitionReaderFactory source, String id) implements PartitionReaderFactory {
    private static final long serialVersionUID = 1L;

    @Override
    @SuppressWarnings("unchecked")
    public PartitionReader<InternalRow> createReader(InputPartition partition) {
      return new ScanReader((SupportsRealTimeRead<InternalRow>) source.createReader(partition), id);
    }

    @Override
    public PartitionReader<ColumnarBatch> createColumnarReader(InputPartition partition) {
      throw new UnsupportedOperationException("rows are read one by one");
    }

    @Override
    public boolean supportColumnarReads(InputPartition partition) {
      return false;
    }
  }

  private final SupportsRealTimeRead<InternalRow> source;
  private final String id;
  private final TaskBarriers barriers = TaskBarriers.here();
  private long rows;
  private long lastRow = System.nanoTime();

  private ScanReader(SupportsRealTimeRead<InternalRow> source, String id) {
    this.source = source;
    this.id = id;
  }

  @Override
  public RecordStatus nextWithTimeout(Long now, Long timeout) throws IOException {
    return nextWithTimeout(timeout);
  }

  @Override
  public RecordStatus nextWithTimeout(Long timeout) throws IOException {
    long until = System.nanoTime() + timeout * 1_000_000;
    while (System.nanoTime() < until) {
      barriers.check();
      Barrier due = barriers.due();
      if (due != null) {
        barriers.pass(due, new Ack.Read(id, source.getOffset(), rows));
        rows = due.light() ? rows : 0;
      }
      barriers.tell(id, lastRow);
      long slice = System.nanoTime() - lastRow < QUIET_NANOS ? SLICE_MILLIS : QUIET_SLICE_MILLIS;
      RecordStatus status = source.nextWithTimeout(System.currentTimeMillis(), slice);
      if (status.hasRecord()) {
        rows++;
        lastRow = System.nanoTime();
        return status;
      }
    }
    return NONE;
  }

  @Override
  public InternalRow get() {
    return source.get();
  }

  @Override
  public PartitionOffset getOffset() {
    return source.getOffset();
  }

  @Override
  public boolean next() {
    throw new UnsupportedOperationException("rows are read in real time");
  }

  @Override
  public CustomTaskMetric[] currentMetricsValues() {
    return source.currentMetricsValues();
  }

  @Override
  public void close() throws IOException {
    source.close();
  }
}
