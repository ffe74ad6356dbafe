package millstream.journal;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.Map;
import java.util.TreeMap;

/** Which offsets a topic has, and what a reader's options mean. */
final class Offsets {
  private final PartitionLog[] logs;

  Offsets(Topic topic) {
    logs = new PartitionLog[topic.partitions()];
    for (int partition = 0; partition < logs.length; partition++) {
      logs[partition] = topic.log(partition);
    }
  }

  /** The segments that hold these records, as far as they were listed: that need not be done again elsewhere. */
  ArrayList<SegmentName> between(int partition, long from, long until) {
    return partition < logs.length ? logs[partition].between(from, until) : new ArrayList<>();
  }

  JournalOffset first() {
    Map<Integer, Long> first = new TreeMap<>();
    try {
      for (int partition = 0; partition < logs.length; partition++) {
        logs[partition].refresh();
        first.put(partition, logs[partition].first());
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return new JournalOffset(first);
  }

  JournalOffset end() {
    Map<Integer, Long> end = new TreeMap<>();
    try {
      for (int partition = 0; partition < logs.length; partition++) {
        end.put(partition, logs[partition].end());
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return new JournalOffset(end);
  }

  JournalOffset starting(String option) {
    if (option.equalsIgnoreCase("latest")) {
      return end();
    }
    JournalOffset first = first();
    return option.equalsIgnoreCase("earliest") ? first : inRange(JournalOffset.parse("starting", option), first);
  }

  JournalOffset ending(String option) {
    return option == null ? end() : inRange(JournalOffset.parse("ending", option), end());
  }

  /** An error if the topic has not these offsets any more: it was created again since a job read it. */
  void check(JournalOffset start) {
    inRange(start, first());
  }

  private JournalOffset inRange(JournalOffset asked, JournalOffset otherwise) {
    JournalOffset end = end();
    Map<Integer, Long> next = new TreeMap<>(otherwise.byPart());
    for (Map.Entry<Integer, Long> entry : asked.byPart().entrySet()) {
      int partition = entry.getKey();
      if (partition < 0 || partition >= logs.length) {
        throw JournalException.notOffsets("starting or ending", asked.json());
      }
      if (entry.getValue() < logs[partition].first() || entry.getValue() > end.of(partition)) {
        throw logs[partition].outOfRange(entry.getValue(), end.of(partition));
      }
      next.put(partition, entry.getValue());
    }
    return new JournalOffset(next);
  }
}
