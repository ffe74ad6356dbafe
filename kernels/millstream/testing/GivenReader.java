package millstream.testing;

import java.util.ArrayList;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.unsafe.types.UTF8String;

/** The records of a step, in their order. */
final class GivenReader implements PartitionReader<InternalRow> {
  record Part(String source, ArrayList<Given.Entry> entries) implements InputPartition {}

  record Factory() implements PartitionReaderFactory {
    @Override
    public PartitionReader<InternalRow> createReader(InputPartition partition) {
      return new GivenReader((Part) partition);
    }
  }

  /** One, even if there are no records: timers by the clock ring at the end of a task. */
  static InputPartition[] partitions(String source, ArrayList<Given.Entry> entries) {
    return new InputPartition[] {new Part(source, entries)};
  }

  private final UTF8String source;
  private final ArrayList<Given.Entry> entries;
  private int at = -1;

  private GivenReader(Part part) {
    this.source = UTF8String.fromString(part.source());
    this.entries = part.entries();
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
        new Object[] {entry.key(), entry.value(), source, headers, 0, entry.offset(), entry.micros()});
  }

  @Override
  public void close() {}
}
