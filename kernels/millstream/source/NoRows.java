package millstream.source;

import java.util.NoSuchElementException;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;

/** What a task reads that has nothing to read. */
public record NoRows() implements InputPartition {
  public static PartitionReaderFactory readers() {
    return new Readers();
  }

  private record Readers() implements PartitionReaderFactory {
    @Override
    public PartitionReader<InternalRow> createReader(InputPartition partition) {
      return new Reader();
    }
  }

  private record Reader() implements PartitionReader<InternalRow> {
    @Override
    public boolean next() {
      return false;
    }

    @Override
    public InternalRow get() {
      throw new NoSuchElementException();
    }

    @Override
    public void close() {}
  }
}
