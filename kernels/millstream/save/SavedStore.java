package millstream.save;

import java.io.Closeable;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.unsafe.types.UTF8String;

/** One state store of a stage, whose entries go to the lists that they belong to. */
final class SavedStore implements Closeable {
  /** How many items a list has: Spark's own count, which follows from the list. */
  private static final String COUNTS = "$rowCounter_";

  private static final int TELL = 1 << 10;

  private final StageState state;
  private final int partition;
  private final List<SavedList> lists;
  /** Whether an entry of no list is an error. */
  private final boolean all;

  private final AtomicLong rows;
  private long count;
  private PartitionReader<InternalRow> reader;
  private boolean more;

  SavedStore(StageState state, int partition, List<SavedList> lists, boolean all, AtomicLong rows) {
    this.state = state;
    this.partition = partition;
    this.lists = lists;
    this.all = all;
    this.rows = rows;
  }

  /** Loads its files. */
  void open() throws IOException {
    reader = state.open(partition);
    more = reader.next();
  }

  void read() throws IOException {
    Map<UTF8String, List<SavedRows>> families = new HashMap<>();
    for (SavedList list : lists) {
      families
          .computeIfAbsent(UTF8String.fromString(list.spec.family()), any -> new ArrayList<>())
          .add(list.rows());
    }
    long read = 0;
    for (; more; more = reader.next()) {
      InternalRow row = reader.get();
      take(row, families.get(row.getUTF8String(3)));
      if (++read % TELL == 0) {
        rows.addAndGet(TELL);
      }
    }
    rows.addAndGet(read % TELL);
    count = read;
  }

  int partition() {
    return partition;
  }

  /** How many entries it has, once it was read. */
  long count() {
    return count;
  }

  private void take(InternalRow row, List<SavedRows> lists) throws IOException {
    byte[] key = row.getBinary(1);
    byte[] value = row.getBinary(2);
    if (lists != null) {
      for (SavedRows list : lists) {
        if (list.take(key, value)) {
          return;
        }
      }
    }
    String family = row.getUTF8String(3).toString();
    if (all && !family.startsWith(COUNTS)) {
      throw new IOException("MS-SAVEPOINT-001: there is state in " + family + " that belongs to no operator.");
    }
  }

  @Override
  public void close() throws IOException {
    if (reader != null) {
      reader.close();
      reader = null;
    }
  }
}
