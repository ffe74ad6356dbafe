package millstream.sink;

import java.io.IOException;
import org.apache.spark.sql.catalyst.InternalRow;

/** What a row's weight means: turns weighted rows into records, by the sink's mode. */
abstract class WeightedWriter {
  protected final TaskWriter to;

  private WeightedWriter(TaskWriter to) {
    this.to = to;
  }

  static WeightedWriter of(SinkSpec spec, TaskWriter to, boolean each) {
    return switch (spec.mode()) {
      case APPEND -> new Append(spec.name(), to);
      case CHANGELOG -> new Changelog(to);
      case UPSERT -> new Upsert(to, each);
    };
  }

  abstract void write(byte[] key, byte[] value, InternalRow row, long weight) throws IOException;

  TaskWriter.Prepared prepare() throws IOException {
    return to.prepare();
  }

  void abort() throws IOException {
    to.abort();
  }

  private static final class Append extends WeightedWriter {
    private final String sink;

    Append(String sink, TaskWriter to) {
      super(to);
      this.sink = sink;
    }

    @Override
    void write(byte[] key, byte[] value, InternalRow row, long weight) throws IOException {
      if (weight <= 0) {
        throw SinkException.onlyAppends(sink, weight);
      }
      for (long i = 0; i < weight; i++) {
        to.write(key, value, row);
      }
    }
  }

  /** The value says by itself whether it adds or takes back. */
  private static final class Changelog extends WeightedWriter {
    Changelog(TaskWriter to) {
      super(to);
    }

    @Override
    void write(byte[] key, byte[] value, InternalRow row, long weight) throws IOException {
      for (long i = Math.abs(weight); i > 0; i--) {
        to.write(key, value, row);
      }
    }
  }

  /**
   * An update comes as the old row taken back and the new one added, one right after the other: the tombstone of the
   * first is held back, and dropped if the second has the same key.
   */
  private static final class Upsert extends WeightedWriter {
    private final HeldBack held;

    Upsert(TaskWriter to, boolean each) {
      super(to);
      held = new HeldBack(to, each);
    }

    @Override
    void write(byte[] key, byte[] value, InternalRow row, long weight) throws IOException {
      synchronized (held) {
        if (weight > 0) {
          held.drop(key);
          to.write(key, value, row);
        } else if (weight < 0) {
          held.hold(key);
        }
      }
    }

    @Override
    TaskWriter.Prepared prepare() throws IOException {
      synchronized (held) {
        held.close(true);
        return to.prepare();
      }
    }

    @Override
    void abort() throws IOException {
      synchronized (held) {
        held.close(false);
        to.abort();
      }
    }
  }
}
