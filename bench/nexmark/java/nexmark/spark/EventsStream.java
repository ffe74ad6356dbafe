package nexmark.spark;

import java.io.IOException;
import java.io.UncheckedIOException;
import nexmark.Block;
import nexmark.EventLog;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream;
import org.apache.spark.sql.connector.read.streaming.Offset;
import org.apache.spark.sql.connector.read.streaming.ReadLimit;
import org.apache.spark.sql.connector.read.streaming.SupportsTriggerAvailableNow;
import org.apache.spark.sql.execution.streaming.runtime.LongOffset;

/** Epochs of whole blocks, counted by the offset; those of an epoch are shared out in turn, as they are in Flink. */
final class EventsStream implements MicroBatchStream, SupportsTriggerAvailableNow {
  private final String folder;
  private final int partitions;
  private final long blocksPerEpoch;

  EventsStream(String folder, int partitions, long eventsPerEpoch) {
    this.folder = folder;
    this.partitions = partitions;
    this.blocksPerEpoch = Math.max(1, eventsPerEpoch / Block.EVENTS);
  }

  private record Part(String folder, int first, int end, int step) implements InputPartition {}

  @Override
  public Offset initialOffset() {
    return new LongOffset(0);
  }

  @Override
  public Offset deserializeOffset(String json) {
    return new LongOffset(Long.parseLong(json));
  }

  @Override
  public Offset latestOffset() {
    throw new UnsupportedOperationException("latestOffset(Offset, ReadLimit) is called instead");
  }

  @Override
  public Offset latestOffset(Offset start, ReadLimit limit) {
    long all = EventLog.events(folder) / Block.EVENTS;
    return new LongOffset(Math.min(all, ((LongOffset) start).offset() + Math.min(all, blocksPerEpoch)));
  }

  @Override
  public void prepareForTriggerAvailableNow() {}

  @Override
  public InputPartition[] planInputPartitions(Offset start, Offset end) {
    int from = (int) ((LongOffset) start).offset();
    int to = (int) ((LongOffset) end).offset();
    InputPartition[] parts = new InputPartition[partitions];
    for (int part = 0; part < partitions; part++) {
      parts[part] = new Part(folder, from + part, to, partitions);
    }
    return parts;
  }

  @Override
  public PartitionReaderFactory createReaderFactory() {
    return (PartitionReaderFactory) Reader::new;
  }

  private static final class Reader implements PartitionReader<InternalRow> {
    private final Part part;
    private final EventLog log;
    private final EventRow row = new EventRow();
    private int block;
    private int event = Block.EVENTS;

    Reader(InputPartition part) {
      this.part = (Part) part;
      this.block = this.part.first - this.part.step;
      try {
        this.log = new EventLog(this.part.folder);
      } catch (IOException error) {
        throw new UncheckedIOException(error);
      }
    }

    @Override
    public boolean next() throws IOException {
      if (++event >= Block.EVENTS) {
        block += part.step;
        if (block >= part.end) {
          return false;
        }
        row.read(log.block(block));
        event = 0;
      }
      row.at(event);
      return true;
    }

    @Override
    public InternalRow get() {
      return row;
    }

    @Override
    public void close() throws IOException {
      log.close();
    }
  }

  @Override
  public void commit(Offset end) {}

  @Override
  public void stop() {}
}
