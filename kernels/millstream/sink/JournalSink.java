package millstream.sink;

import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.zip.CRC32;
import millstream.journal.Disk;
import millstream.journal.Retention;
import millstream.journal.SegmentName;
import millstream.journal.SegmentWriter;
import millstream.journal.Topic;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.catalyst.InternalRow;

/** Sinks that are topics of a journal. */
final class JournalSink implements SinkKind {
  @Override
  public TaskWriter writer(SinkSpec spec, TaskId task) throws IOException {
    return new Writer(open(spec), spec.writer(), task, RowEncoding.of(spec));
  }

  @Override
  public Committer committer(SinkSpec spec) {
    return new JournalCommitter(spec, open(spec));
  }

  /** The sink's settings already say what the topic is like: the disk is not asked again. */
  private static Topic open(SinkSpec spec) {
    int partitions = Integer.parseInt(spec.setting("partitions"));
    Retention.Keep keep =
        new Retention.Keep(limit(spec, "keep_ms"), limit(spec, "keep_bytes"), limit(spec, "compact_ms"));
    return Topic.of(spec.setting("path"), spec.setting("topic"), partitions, keep);
  }

  private static long limit(SinkSpec spec, String name) {
    return Long.parseLong(spec.settings().getOrDefault(name, Long.toString(Long.MAX_VALUE)));
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
    private final SegmentName.Open file;
    private final SegmentWriter[] segments;
    /** Null: readers of uncommitted rows see each row at once, or never. */
    private final SoonSeen soon;

    private final RowEncoding encoding;

    Writer(Topic topic, String writer, TaskId task, RowEncoding encoding) {
      this.topic = topic;
      this.encoding = encoding;
      this.task = task;
      this.file = SegmentName.Open.of(writer, task.epoch(), task.task(), task.tenure(), task.attempt());
      this.segments = new SegmentWriter[topic.partitions()];
      Duration after = task.each() ? topic.disk().flushEvery() : Duration.ZERO;
      this.soon = after.isZero() ? null : new SoonSeen(after);
    }

    @Override
    public void write(byte[] key, byte[] value, InternalRow row) throws IOException {
      write(key, encoding.value(value, row));
    }

    @Override
    public void write(byte[] key, byte[] value) throws IOException {
      int partition = partition(key, task.task(), segments.length);
      long now = System.currentTimeMillis();
      if (segments[partition] == null) {
        String path = topic.open(partition, file);
        topic.disk().makeFolder(Disk.folderOf(path));
        segments[partition] = new SegmentWriter(topic.disk(), path, now);
      }
      if (soon != null) {
        soon.append(segments[partition], now, key, value);
        return;
      }
      segments[partition].append(now, key, value);
      if (task.each()) {
        segments[partition].flush();
      }
    }

    @Override
    public Prepared prepare() throws IOException {
      if (soon != null) {
        soon.end();
      }
      Disk disk = topic.disk();
      List<PreparedList.File> files = new ArrayList<>();
      for (int partition = 0; partition < segments.length; partition++) {
        SegmentWriter segment = segments[partition];
        if (segment != null) {
          segment.sync();
          segment.close();
          disk.syncFolder(Disk.folderOf(topic.open(partition, file)));
          files.add(new PreparedList.File(partition, file.file(), segment.records(), segment.bytes()));
        }
      }
      TaskContext context = TaskContext.get();
      return new Files(new ArrayList<>(files), context != null && context.attemptNumber() > 0);
    }

    @Override
    public void abort() throws IOException {
      if (soon != null) {
        soon.close();
      }
      for (int partition = 0; partition < segments.length; partition++) {
        if (segments[partition] != null) {
          segments[partition].abort();
          topic.disk().delete(topic.open(partition, file));
        }
      }
    }
  }
}
