package millstream.sink;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeSet;
import millstream.faults.Faults;
import millstream.journal.Locks;
import millstream.journal.PartitionLog;
import millstream.journal.SegmentName;
import millstream.journal.Topic;

/** Prepares by listing the tasks' files, publishes by renaming them into the partitions, as FORMAT.md says. */
final class JournalCommitter implements Committer {
  private final SinkSpec spec;
  private final Topic topic;
  private final PartitionLog[] logs;
  /** Null: the topic's reader relies on the names of its segments, and deletes them. */
  private final Upkeep upkeep;

  JournalCommitter(SinkSpec spec, Topic topic) {
    this.spec = spec;
    this.topic = topic;
    this.logs = new PartitionLog[topic.partitions()];
    for (int partition = 0; partition < logs.length; partition++) {
      logs[partition] = topic.log(partition);
    }
    this.upkeep = spec.isCarried() ? null : new Upkeep(topic, spec.writer(), logs);
  }

  @Override
  public void claim(Locks locks) throws IOException {
    locks.take(topic);
  }

  @Override
  public void requireUnused() throws IOException {
    for (PartitionLog log : logs) {
      log.refresh();
      for (SegmentName segment : log.segments()) {
        if (!segment.byProducer() && segment.token().startsWith(spec.writer() + "-")) {
          throw SinkException.usedWriter(spec.name(), spec.writer());
        }
      }
    }
  }

  @Override
  public JsonNode prepared(long epoch, List<TaskWriter.Prepared> tasks) {
    List<PreparedList.File> files = new ArrayList<>();
    boolean retried = false;
    for (TaskWriter.Prepared task : tasks) {
      files.addAll(((JournalSink.Files) task).files());
      retried |= ((JournalSink.Files) task).retried();
    }
    return new PreparedList(files, retried).json();
  }

  @Override
  public void publish(long epoch, JsonNode prepared, Fence fence) throws IOException {
    PreparedList list = PreparedList.parse(prepared);
    Faults.at("sink.publish.before", epoch, spec.name());
    publish(list, epoch);
    if (list.retried()) {
      // What is left of these epochs are files of attempts that did not count.
      for (PartitionLog log : logs) {
        log.cleanUpTo(spec.writer(), epoch);
      }
    }
    Faults.at("sink.publish.after", epoch, spec.name());
    if (upkeep != null) {
      upkeep.published(epoch, fence);
    }
  }

  private void publish(PreparedList list, long epoch) throws IOException {
    TreeSet<Integer> touched = new TreeSet<>();
    int renamed = 0;
    for (PreparedList.File file : list.files()) {
      if (publish(file, epoch)) {
        touched.add(file.partition());
        if (++renamed == 1 && list.files().size() > 1) {
          Faults.at("sink.publish.between", epoch, spec.name());
        }
      }
    }
    for (int partition : touched) {
      logs[partition].sync();
    }
  }

  /** False if the file was published before. */
  private boolean publish(PreparedList.File file, long epoch) throws IOException {
    try {
      return logs[file.partition()].publish(SegmentName.Open.of(file.name()), file.records(), file.bytes());
    } catch (FileNotFoundException e) {
      throw SinkException.preparedFileMissing(spec.name(), epoch, e.getMessage());
    }
  }

  @Override
  public void recover(long lastCommitted, long tenure, Fence fence) throws IOException {
    for (PartitionLog log : logs) {
      long last = log.lastEpochOf(spec.writer());
      if (last > lastCommitted) {
        throw SinkException.gone(spec.name(), last, lastCommitted);
      }
      log.clean(spec.writer(), lastCommitted, tenure);
    }
  }

  @Override
  public void discard(long from, long tenure) throws IOException {
    for (PartitionLog log : logs) {
      log.discard(spec.writer(), from, tenure);
    }
  }

  @Override
  public void close() throws IOException {
    if (upkeep != null) {
      upkeep.close();
    }
  }
}
