package millstream.testing;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import millstream.sink.Committer;
import millstream.sink.SinkKind;
import millstream.sink.SinkSpec;
import millstream.sink.TaskWriter;

/**
 * A topic of a journal that is in trouble as long as a file is there: {@code slow}, a row takes ten milliseconds;
 * {@code broken}, what was written cannot be made durable.
 */
public final class TroubledSink implements SinkKind {
  private static SinkSpec journal(SinkSpec spec) {
    return new SinkSpec(spec.name(), "journal", spec.writer(), spec.mode(), spec.settings());
  }

  @Override
  public TaskWriter writer(SinkSpec spec, TaskId task) throws IOException {
    SinkSpec journal = journal(spec);
    return new Writer(SinkKind.of(journal).writer(journal, task), Path.of(spec.setting("trouble")));
  }

  @Override
  public Committer committer(SinkSpec spec) throws IOException {
    SinkSpec journal = journal(spec);
    return SinkKind.of(journal).committer(journal);
  }

  private record Writer(TaskWriter inner, Path trouble) implements TaskWriter {
    @Override
    public void write(byte[] key, byte[] value) throws IOException {
      if (Files.exists(trouble.resolve("slow"))) {
        LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(10));
      }
      inner.write(key, value);
    }

    @Override
    public Prepared prepare() throws IOException {
      if (Files.exists(trouble.resolve("broken"))) {
        throw new IOException("the sink is broken");
      }
      return inner.prepare();
    }

    @Override
    public void abort() throws IOException {
      inner.abort();
    }
  }
}
