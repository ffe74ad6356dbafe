package millstream.journal;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.connector.read.InputPartition;

/** What one task reads: a partition's records from one offset up to another. */
record JournalPartition(String path, String topic, int partition, long from, long until) implements InputPartition {
  static InputPartition[] between(JournalOptions options, JournalOffset start, JournalOffset end) {
    List<InputPartition> found = new ArrayList<>();
    for (Map.Entry<Integer, Long> entry : end.byPartition().entrySet()) {
      int partition = entry.getKey();
      if (entry.getValue() > start.of(partition)) {
        found.add(new JournalPartition(options.path, options.topic, partition, start.of(partition), entry.getValue()));
      }
    }
    return found.toArray(InputPartition[]::new);
  }

  static InputPartition[] after(JournalOptions options, JournalOffset start, int partitions) {
    InputPartition[] found = new InputPartition[partitions];
    for (int partition = 0; partition < partitions; partition++) {
      found[partition] =
          new JournalPartition(options.path, options.topic, partition, start.of(partition), Long.MAX_VALUE);
    }
    return found;
  }
}
