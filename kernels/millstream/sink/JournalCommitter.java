package millstream.sink;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeSet;
import millstream.faults.Faults;
import millstream.journal.Disk;
import millstream.journal.Locks;
import millstream.journal.PartitionLog;
import millstream.journal.SegmentName;
import millstream.journal.Topic;

/** Prepares by a list next to the topic, publishes by renaming files into the partitions, as FORMAT.md says. */
final class JournalCommitter implements Committer {
  private final SinkSpec spec;
  private final Topic topic;
  private final Disk disk;
  private final String lists;
  private final PartitionLog[] logs;

  JournalCommitter(SinkSpec spec, Topic topic) {
    this.spec = spec;
    this.topic = topic;
    this.disk = topic.disk();
    this.lists = topic.prepared();
    this.logs = new PartitionLog[topic.partitions()];
    for (int partition = 0; partition < logs.length; partition++) {
      logs[partition] = topic.log(partition);
    }
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
  public void prepared(long epoch, List<TaskWriter.Prepared> tasks) throws IOException {
    List<PreparedList.File> files = new ArrayList<>();
    for (TaskWriter.Prepared task : tasks) {
      files.addAll(((JournalSink.Files) task).files());
    }
    if (files.isEmpty()) {
      return;
    }
    Faults.at("sink.prepare.before", epoch, spec.name());
    disk.makeFolder(lists);
    disk.writeAtomically(list(epoch), new PreparedList(epoch, files).json());
    Faults.at("sink.prepare.after", epoch, spec.name());
  }

  private String list(long epoch) {
    return lists + "/" + PreparedList.name(spec.writer(), epoch);
  }

  private TreeSet<Long> preparedEpochs() throws IOException {
    TreeSet<Long> epochs = new TreeSet<>();
    for (String name : disk.list(lists)) {
      long epoch = PreparedList.epoch(name, spec.writer());
      if (epoch >= 0) {
        epochs.add(epoch);
      }
    }
    return epochs;
  }

  @Override
  public void publish(long upTo) throws IOException {
    for (long epoch : preparedEpochs().headSet(upTo, true)) {
      PreparedList list = PreparedList.parse(disk.readAll(list(epoch)));
      Faults.at("sink.publish.before", epoch, spec.name());
      publish(list);
      disk.delete(list(epoch));
      for (PartitionLog log : logs) {
        log.cleanUpTo(spec.writer(), epoch);
      }
      Faults.at("sink.publish.after", epoch, spec.name());
    }
  }

  private void publish(PreparedList list) throws IOException {
    TreeSet<Integer> touched = new TreeSet<>();
    int renamed = 0;
    for (PreparedList.File file : list.files()) {
      if (publish(file, list.epoch())) {
        touched.add(file.partition());
        if (++renamed == 1 && list.files().size() > 1) {
          Faults.at("sink.publish.between", list.epoch(), spec.name());
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
  public void recover(long lastCommitted) throws IOException {
    publish(lastCommitted);
    for (long epoch : preparedEpochs()) {
      disk.delete(list(epoch));
    }
    for (PartitionLog log : logs) {
      log.clean(spec.writer());
    }
  }

  @Override
  public void discard(long epoch) throws IOException {
    disk.delete(list(epoch));
    for (PartitionLog log : logs) {
      log.discard(spec.writer(), epoch);
    }
  }
}
