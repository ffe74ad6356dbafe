package millstream.sink;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.zip.CRC32;
import millstream.journal.Disk;
import millstream.journal.SegmentName;
import millstream.journal.SegmentWriter;
import millstream.journal.Topic;
import org.apache.spark.TaskContext;

/** Sinks that are topics of a journal. */
final class JournalSink implements SinkKind {
  @Override
  public TaskWriter writer(SinkSpec spec, TaskId task) {
    return new Writer(open(spec), spec.writer(), task);
  }

  @Override
  public Committer committer(SinkSpec spec) {
    return new JournalCommitter(spec, open(spec));
  }

  private static Topic open(SinkSpec spec) {
    return Topic.open(spec.setting("path"), spec.setting("topic"));
  }

  /** Where a record with this key goes: producers in Python go by the same rule. */
  static int partition(byte[] key, int otherwise, int partitions) {
    if (key == null) {
      return otherwise % partitions;
    }
    CRC32 crc = new CRC32();
    crc.update(key);
    return (int) (crc.getValue() % partitions);
  }

  /** The files that a task wrote, one per partition that it met; and whether an attempt came before. */
  record Files(ArrayList<PreparedList.File> files, boolean retried) implements TaskWriter.Prepared {}

  private static final class Writer implements TaskWriter {
    private final Topic topic;
    private final TaskId task;
    private final String name;
    private final SegmentWriter[] segments;

    Writer(Topic topic, String writer, TaskId task) {
      this.topic = topic;
      this.task = task;
      this.name = SegmentName.Open.of(writer, task.epoch(), task.task(), task.tenure(), task.attempt())
          .file();
      this.segments = new SegmentWriter[topic.partitions()];
    }

    @Override
    public void write(byte[] key, byte[] value) throws IOException {
      int partition = partition(key, task.task(), segments.length);
      long now = System.currentTimeMillis();
      if (segments[partition] == null) {
        topic.disk().makeFolder(topic.open(partition));
        segments[partition] = new SegmentWriter(topic.disk(), topic.open(partition) + "/" + name, now);
      }
      segments[partition].append(now, key, value);
      if (task.each()) {
        segments[partition].flush();
      }
    }

    @Override
    public Prepared prepare() throws IOException {
      Disk disk = topic.disk();
      List<PreparedList.File> files = new ArrayList<>();
      for (int partition = 0; partition < segments.length; partition++) {
        SegmentWriter segment = segments[partition];
        if (segment != null) {
          segment.sync();
          segment.close();
          disk.syncFolder(topic.open(partition));
          files.add(new PreparedList.File(partition, name, segment.records()));
        }
      }
      TaskContext context = TaskContext.get();
      return new Files(new ArrayList<>(files), context != null && context.attemptNumber() > 0);
    }

    @Override
    public void abort() throws IOException {
      for (int partition = 0; partition < segments.length; partition++) {
        if (segments[partition] != null) {
          segments[partition].close();
          topic.disk().delete(topic.open(partition) + "/" + name);
        }
      }
    }
  }
}
