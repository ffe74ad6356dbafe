package millstream.faults;

import java.io.IOException;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import millstream.checkpoint.LocalCheckpoints;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.execution.streaming.checkpointing.CheckpointFileManager.CancellableFSDataOutputStream;

/**
 * Spark's checkpoint files, with places to fail at: {@code offsets}, {@code commits} and {@code state}, each with
 * {@code .before} and {@code .after} the moment at which a file appears, and {@code state.during} its writing.
 */
public final class FaultyCheckpoints extends LocalCheckpoints {
  private static final Pattern LOG = Pattern.compile(".*/(offsets|commits)/(\\d+)");
  private static final Pattern STATE =
      Pattern.compile(".*/(state)/.*?(\\d+)(?:_[^/]*)?\\.(?:changelog|zip|delta|snapshot)");

  public FaultyCheckpoints(Path path, Configuration conf) {
    super(path, conf);
  }

  @Override
  public CancellableFSDataOutputStream createAtomic(Path path, boolean overwrite) {
    CancellableFSDataOutputStream file = super.createAtomic(path, overwrite);
    String name = path.toUri().getPath();
    for (Pattern pattern : new Pattern[] {LOG, STATE}) {
      Matcher matcher = pattern.matcher(name);
      if (matcher.matches()) {
        return new Faulty(file, matcher.group(1), Long.parseLong(matcher.group(2)));
      }
    }
    return file;
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
