package millstream.testing;

import java.util.ArrayList;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;

/** The records of a step, in their order. */
final class GivenReader implements PartitionReader<InternalRow> {
  record Part(ArrayList<Given.Entry> entries) implements InputPartition {}

  record Factory() implements PartitionReaderFactory {
    @Override
    public PartitionReader<InternalRow> createReader(InputPartition partition) {
      return new GivenReader(((Part) partition).entries());
    }
  }

  static InputPartition[] partitions(ArrayList<Given.Entry> entries) {
    return entries.isEmpty() ? new InputPartition[0] : new InputPartition[] {new Part(entries)};
  }

  private final ArrayList<Given.Entry> entries;
  private int at = -1;

  private GivenReader(ArrayList<Given.Entry> entries) {
    this.entries = entries;
  }

  @Override
  public boolean next() {
    return ++at < entries.size();
  }

  @Override
  public InternalRow get() {
    Given.Entry entry = entries.get(at);
    GenericArrayData headers = new GenericArrayData(new Object[0]);
    return new GenericInternalRow(
        new Object[] {entry.key(), entry.value(), headers, 0, entry.offset(), entry.micros()});
  }

  @Override
  public void close() {}
}
