package millstream.journal;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.connector.read.InputPartition;

/**
 * What one task reads: a partition's records from one offset up to another. {@code segments}: those that hold them, if
 * that is known.
 */
record JournalPartition(
    String path, String topic, int partition, long from, long until, ArrayList<SegmentName> segments)
    implements InputPartition {
  static InputPartition[] between(JournalOptions options, Offsets offsets, JournalOffset start, JournalOffset end) {
    List<InputPartition> found = new ArrayList<>();
    for (Map.Entry<Integer, Long> entry : end.byPart().entrySet()) {
      int partition = entry.getKey();
      if (entry.getValue() > start.of(partition)) {
        long from = start.of(partition), until = entry.getValue();
        ArrayList<SegmentName> segments = offsets.between(partition, from, until);
        found.add(new JournalPartition(options.path, options.topic, partition, from, until, segments));
      }
    }
    return found.toArray(InputPartition[]::new);
  }

  static InputPartition[] after(JournalOptions options, JournalOffset start, int partitions) {
    InputPartition[] found = new InputPartition[partitions];
    for (int partition = 0; partition < partitions; partition++) {
      found[partition] = new JournalPartition(
          options.path, options.topic, partition, start.of(partition), Long.MAX_VALUE, new ArrayList<>());
    }
    return found;
  }
}
