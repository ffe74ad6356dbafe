package millstream.time;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.lang.reflect.Field;
import java.util.UUID;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.execution.streaming.checkpointing.CheckpointFileManager;
import org.apache.spark.sql.execution.streaming.checkpointing.CheckpointFileManager.CancellableFSDataOutputStream;
import org.apache.spark.sql.execution.streaming.runtime.MicroBatchExecution;
import org.apache.spark.sql.execution.streaming.runtime.WatermarkTracker;
import scala.Option;
import scala.Some;

/**
 * How far each source is, written before an epoch is committed.
 *
 * <p>Spark keeps the least of them only: after a restart, a source without new rows would hold time back until it has
 * some.
 */
final class Watermarks {
  private static final ObjectMapper JSON = new ObjectMapper();

  private final MicroBatchExecution query;
  private final Timed[] sources;
  private final Path folder;
  private final CheckpointFileManager files;
  private boolean restored;

  Watermarks(MicroBatchExecution query, Timed[] sources, String folder) {
    this.query = query;
    this.sources = sources;
    this.folder = new Path(folder);
    this.files = CheckpointFileManager.create(
        this.folder, query.sparkSession().sessionState().newHadoopConf());
    if (!files.exists(this.folder)) {
      files.mkdirs(this.folder);
    }
  }

  void write(long epoch) {
    ObjectNode all = JSON.createObjectNode();
    for (Timed source : sources) {
      long said = Clock.said(query.watermarkTracker(), source);
      if (said > 0) {
        all.put(source.name, said);
      }
    }
    CancellableFSDataOutputStream out = files.createAtomic(file(epoch), true);
    try {
      out.write(JSON.writeValueAsBytes(all));
      out.close();
    } catch (IOException error) {
      out.cancel();
      throw new UncheckedIOException(error);
    }
  }

  void forget(long epoch) {
    files.delete(file(epoch));
  }

  /** As of the last epoch that was committed, once: when Spark has a place for them, before an epoch is planned. */
  void restore() {
    Option<Object> last = restored ? Option.empty() : query.commitLog().getLatestBatchId();
    restored = true;
    if (last.isEmpty() || !files.exists(file((Long) last.get()))) {
      return;
    }
    JsonNode known = read(file((Long) last.get()));
    WatermarkTracker tracker = query.watermarkTracker();
    synchronized (tracker) {
      for (Timed source : sources) {
        if (known.has(source.name) && Clock.said(tracker, source) == 0) {
          of(tracker).put(source.watermark, new Some<>(known.get(source.name).asLong()));
        }
      }
    }
  }

  private JsonNode read(Path file) {
    try (InputStream in = files.open(file)) {
      return JSON.readTree(in);
    } catch (IOException error) {
      throw new UncheckedIOException(error);
    }
  }

  private Path file(long epoch) {
    return new Path(folder, Long.toString(epoch));
  }

  @SuppressWarnings("unchecked")
  private static scala.collection.mutable.Map<UUID, Option<Object>> of(WatermarkTracker tracker) {
    try {
      Field field = WatermarkTracker.class.getDeclaredField("operatorToWatermarkMap");
      field.setAccessible(true);
      return (scala.collection.mutable.Map<UUID, Option<Object>>) field.get(tracker);
    } catch (ReflectiveOperationException error) {
      throw Propagation.moved(error);
    }
  }
}
