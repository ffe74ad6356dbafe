package millstream.faults;

import java.io.IOException;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import millstream.checkpoint.LocalCheckpoints;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.execution.streaming.checkpointing.CheckpointFileManager.CancellableFSDataOutputStream;

/**
 * Spark's checkpoint files, with places to fail at: {@code offsets}, {@code commits}, {@code state}, and before the
 * first epoch {@code metadata} of the query and {@code schema} of its state. Each has {@code .before} and
 * {@code .after} the moment at which a file appears, and {@code .during} its writing.
 */
public final class FaultyCheckpoints extends LocalCheckpoints {
  private static final Pattern LOG = Pattern.compile(".*/(offsets|watermarks|commits)/(\\d+)");
  private static final Pattern STATE =
      Pattern.compile(".*/(state)/.*?(\\d+)(?:_[^/]*)?\\.(?:changelog|zip|delta|snapshot)");
  private static final Pattern ONCE = Pattern.compile(".*/(?:(metadata)|state/.*/(?:_metadata|_stateSchema)/.*)");

  public FaultyCheckpoints(Path path, Configuration conf) {
    super(path, conf);
  }

  @Override
  protected CancellableFSDataOutputStream created(Path path, boolean overwrite) {
    CancellableFSDataOutputStream file = super.created(path, overwrite);
    String name = path.toUri().getPath();
    for (Pattern pattern : new Pattern[] {LOG, STATE}) {
      Matcher matcher = pattern.matcher(name);
      if (matcher.matches()) {
        return new Faulty(file, matcher.group(1), Long.parseLong(matcher.group(2)));
      }
    }
    Matcher once = ONCE.matcher(name);
    return once.matches() ? new Faulty(file, once.group(1) == null ? "schema" : "metadata", 0) : file;
  }

  private static final class Faulty extends CancellableFSDataOutputStream {
    private final CancellableFSDataOutputStream file;
    private final String point;
    private final long epoch;
    private boolean closed;

    Faulty(CancellableFSDataOutputStream file, String point, long epoch) {
      super(file);
      this.file = file;
      this.point = point;
      this.epoch = epoch;
    }

    @Override
    public void write(byte[] bytes, int offset, int length) throws IOException {
      super.write(bytes, offset, length);
      Faults.at(point + ".during", epoch);
    }

    @Override
    public void close() throws IOException {
      if (!closed) {
        closed = true;
        Faults.at(point + ".before", epoch);
        file.close();
        Faults.at(point + ".after", epoch);
      }
    }

    @Override
    public void cancel() {
      closed = true;
      file.cancel();
    }
  }
}
