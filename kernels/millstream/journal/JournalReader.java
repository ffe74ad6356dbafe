package millstream.journal;

import java.io.IOException;
import java.util.concurrent.locks.LockSupport;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.streaming.PartitionOffset;
import org.apache.spark.sql.connector.read.streaming.SupportsRealTimeRead;

/** Reads one partition, up to an offset or, in real time, until the time is over. */
final class JournalReader implements SupportsRealTimeRead<InternalRow> {
  private static final long POLL_NANOS = 1_000_000;

  private static final RecordStatus NONE = RecordStatus.newStatusWithoutArrivalTime(false);
  private static final RecordStatus FOUND = RecordStatus.newStatusWithoutArrivalTime(true);

  record Factory(String[] columns) implements PartitionReaderFactory {
    @Override
    public PartitionReader<InternalRow> createReader(InputPartition partition) {
      return new JournalReader((JournalPartition) partition, columns);
    }
  }

  private final JournalPartition range;
  private final PartitionLog log;
  private final LogReader reader;
  private final RecordRow row;
  private final long listEvery;
  private long listed;

  JournalReader(JournalPartition range, String[] columns) {
    Topic topic = Topic.of(range.path(), range.topic(), range.partition() + 1);
    this.range = range;
    this.log = topic.log(range.partition()).with(range.segments());
    this.reader = new LogReader(log, range.from());
    this.row = new RecordRow(columns, range.partition());
    this.listEvery = topic.disk().listEvery().toNanos();
    this.listed = System.nanoTime() - listEvery;
  }

  @Override
  public boolean next() throws IOException {
    if (reader.offset() >= range.until()) {
      return false;
    }
    boolean found = reader.next();
    if (!found && reader.offset() < range.until()) {
      log.refresh();
      found = reader.next();
      if (!found && reader.offset() < range.until()) {
        // The driver has counted records up to the end of the range: they were there.
        throw log.outOfRange(reader.offset(), log.end());
      }
    }
    // The range may end where a compacted segment has no records, and the next one is of the next range.
    return found && reader.offset() <= range.until();
  }

  @Override
  public RecordStatus nextWithTimeout(Long timeoutMillis) throws IOException {
    if (reader.next()) {
      return FOUND;
    }
    long until = System.nanoTime() + timeoutMillis * 1_000_000;
    for (long now = System.nanoTime(); now < until; now = System.nanoTime()) {
      if (now - listed >= listEvery) {
        log.refresh();
        listed = now;
      }
      if (reader.next()) {
        return FOUND;
      }
      LockSupport.parkNanos(Math.min(POLL_NANOS, until - now));
      if (Thread.interrupted()) {
        throw new java.io.InterruptedIOException("stopped while waiting for records");
      }
    }
    return NONE;
  }

  @Override
  public InternalRow get() {
    return row.of(reader);
  }

  @Override
  public PartitionOffset getOffset() {
    return new JournalOffset.OfPartition(range.partition(), reader.offset());
  }

  @Override
  public void close() throws IOException {
    reader.close();
  }
}
