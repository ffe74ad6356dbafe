package millstream.sink;

import java.io.IOException;
import java.time.Duration;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import millstream.journal.Compaction;
import millstream.journal.Merging;
import millstream.journal.PartitionLog;
import millstream.journal.Retention;
import millstream.journal.Topic;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Keeps a sink's topic small while a run writes to it, beside the run: merges small segments, compacts, deletes old
 * ones.
 */
final class Upkeep implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(Upkeep.class);
  private static final long EVERY_NANOS = Duration.ofSeconds(10).toNanos();

  /** One for all sinks of a driver: nothing waits for it. */
  private static final ExecutorService THREAD = Executors.newSingleThreadExecutor(work -> {
    Thread thread = new Thread(work, "millstream-upkeep");
    thread.setDaemon(true);
    return thread;
  });

  private final Topic topic;
  private final String writer;
  private final PartitionLog[] logs;
  private long looked = System.nanoTime() - EVERY_NANOS;
  private Future<?> running;
  private volatile boolean closed;

  Upkeep(Topic topic, String writer, PartitionLog[] logs) {
    this.topic = topic;
    this.writer = writer;
    this.logs = logs;
  }

  /** All epochs before this one are published, and it is decided so. */
  void published(long epoch, Committer.Fence fence) {
    boolean due = System.nanoTime() - looked >= EVERY_NANOS && (running == null || running.isDone());
    if (!due) {
      return;
    }
    looked = System.nanoTime();
    for (int partition = 0; partition < logs.length; partition++) {
      boolean many = logs[partition].segments().size() > Merging.FEW;
      if (many || topic.keep().limited() || topic.keep().compacted()) {
        int one = partition;
        running = THREAD.submit(() -> look(one, epoch, many, fence));
      }
    }
  }

  private void look(int partition, long epoch, boolean many, Committer.Fence fence) {
    Merging.Leave leave = () -> {
      fence.check();
      return !closed;
    };
    try {
      if (topic.keep().limited()) {
        Retention.look(topic, partition, writer, epoch, leave);
      }
      if (topic.keep().compacted()) {
        Compaction.look(topic, partition, writer, epoch, Merging.Waits.USUAL, leave);
      }
      if (many) {
        Merging.look(topic, partition, writer, epoch, Merging.Waits.USUAL, leave);
      }
    } catch (IOException | RuntimeException error) {
      // Nothing is lost: the next look finds the segments as they are.
      LOG.warn("topic {}, partition {} was not kept small: {}", topic.name(), partition, error.toString());
    }
  }

  /** Nothing is written or deleted any more when this returns. */
  @Override
  public void close() throws IOException {
    closed = true;
    try {
      if (running != null) {
        running.get();
      }
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
    } catch (ExecutionException failed) {
      throw new IOException(failed);
    }
  }
}
