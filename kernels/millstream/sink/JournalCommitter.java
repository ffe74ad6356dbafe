package millstream.sink;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeSet;
import java.util.function.Predicate;
import millstream.faults.Faults;
import millstream.journal.Disk;
import millstream.journal.Locks;
import millstream.journal.PartitionLog;
import millstream.journal.SegmentName;
import millstream.journal.Topic;

/** Prepares by listing the tasks' files, publishes by renaming them into the partitions, as FORMAT.md says. */
final class JournalCommitter implements Committer {
  private final SinkSpec spec;
  private final Topic topic;
  private final Disk disk;
  private final PartitionLog[] logs;

  JournalCommitter(SinkSpec spec, Topic topic) {
    this.spec = spec;
    this.topic = topic;
    this.disk = topic.disk();
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
      deleteOpen(file -> file.epoch() <= epoch);
    }
    Faults.at("sink.publish.after", epoch, spec.name());
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
      disk.syncFolder(topic.folder(partition));
    }
  }

  /** False if the file was published before. */
  private boolean publish(PreparedList.File file, long epoch) throws IOException {
    SegmentName.Open open = SegmentName.Open.of(file.name());
    PartitionLog log = logs[file.partition()];
    if (log.holds(open.token())) {
      return false;
    }
    String from = topic.open(file.partition()) + "/" + file.name();
    if (!disk.exists(from)) {
      throw SinkException.preparedFileMissing(spec.name(), epoch, from);
    }
    long base = log.endAfterRepair();
    String name = SegmentName.published(base, open.token());
    disk.rename(from, topic.folder(file.partition()) + "/" + name);
    log.published(name, base, file.records());
    return true;
  }

  @Override
  public void recover() throws IOException {
    deleteOpen(file -> true);
  }

  @Override
  public void discard(long epoch, long tenure) throws IOException {
    deleteOpen(file -> file.epoch() == epoch && file.tenure() == tenure);
  }

  private void deleteOpen(Predicate<SegmentName.Open> which) throws IOException {
    for (int partition = 0; partition < logs.length; partition++) {
      for (String name : disk.list(topic.open(partition))) {
        SegmentName.Open file = SegmentName.Open.of(name);
        if (file != null && file.writer().equals(spec.writer()) && which.test(file)) {
          disk.delete(topic.open(partition) + "/" + name);
        }
      }
    }
  }
}
