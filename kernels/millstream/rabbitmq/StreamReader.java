package millstream.rabbitmq;

import java.io.InterruptedIOException;
import java.util.concurrent.TimeUnit;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.streaming.PartitionOffset;
import org.apache.spark.sql.connector.read.streaming.SupportsRealTimeRead;

/** Reads one stream, up to an offset or, in real time, until the time is over. */
final class StreamReader implements SupportsRealTimeRead<InternalRow> {
  private static final long PATIENCE_NANOS = TimeUnit.SECONDS.toNanos(60);
  private static final long SLICE_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

  private static final RecordStatus NONE = RecordStatus.newStatusWithoutArrivalTime(false);
  private static final RecordStatus FOUND = RecordStatus.newStatusWithoutArrivalTime(true);

  /** What one task reads: records of the {@code number}-th stream, from one offset up to another. */
  record Range(StreamOptions options, int number, long from, long until) implements InputPartition {
    String stream() {
      return options.streams().get(number);
    }
  }

  record Factory(String[] columns) implements PartitionReaderFactory {
    @Override
    public PartitionReader<InternalRow> createReader(InputPartition partition) {
      return new StreamReader((Range) partition, columns);
    }
  }

  private final Range range;
  private final StreamTail tail;
  private final RecordRow row;
  private StreamTail.Entry current;

  private StreamReader(Range range, String[] columns) {
    this.range = range;
    this.tail = OpenTails.at(range.options(), range.stream(), range.from());
    this.row = new RecordRow(columns, range.stream(), range.number());
  }

  @Override
  public boolean next() throws InterruptedIOException {
    if (tail.next() >= range.until()) {
      return false;
    }
    long deadline = System.nanoTime() + PATIENCE_NANOS;
    StreamTail.Entry found = peek(SLICE_NANOS);
    while (found == null) {
      if (System.nanoTime() > deadline) {
        // The driver has seen records up to the end of the range: they were there.
        throw RabbitException.noAnswer("stream \"" + range.stream() + "\" gives no record " + tail.next(), null);
      }
      found = peek(SLICE_NANOS);
    }
    if (found.offset() >= range.until()) {
      tail.skipTo(range.until());
      return false;
    }
    current = tail.take();
    return true;
  }

  @Override
  public RecordStatus nextWithTimeout(Long timeoutMillis) throws InterruptedIOException {
    if (peek(TimeUnit.MILLISECONDS.toNanos(timeoutMillis)) == null) {
      return NONE;
    }
    current = tail.take();
    return FOUND;
  }

  private StreamTail.Entry peek(long nanos) throws InterruptedIOException {
    try {
      return tail.peek(nanos);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new InterruptedIOException("stopped while waiting for records");
    }
  }

  @Override
  public InternalRow get() {
    return row.of(current);
  }

  @Override
  public PartitionOffset getOffset() {
    return new StreamOffset.OfStream(range.stream(), tail.next());
  }

  @Override
  public void close() {
    if (tail.next() == range.until()) {
      OpenTails.keep(tail);
    } else {
      tail.close();
    }
  }
}
