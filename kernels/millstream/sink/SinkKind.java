package millstream.sink;

import java.io.IOException;

/** A kind of sink: one of ours by its name, one of a connector by the full name of its class. */
public interface SinkKind {
  /** On an executor, at the first row of the sink in a task. */
  TaskWriter writer(SinkSpec spec, TaskId task) throws IOException;

  /** On the driver. */
  Committer committer(SinkSpec spec) throws IOException;

  /** Whether an epoch must be published before the next one may write. */
  default boolean publishesBeforeNext() {
    return false;
  }

  /**
   * Which task writes, and how: {@code tenure} is of one start of the job alone, and {@code attempt} is unique within
   * it; {@code each} asks that every row can be seen by readers of uncommitted rows as soon as it is written.
   * {@code published}: the last epoch that is known to be published, for kinds that publish before the next.
   * {@code flowing}: rows of the next epoch are written while those of this one are prepared, and the one before is
   * published by then.
   */
  record TaskId(long epoch, int task, long tenure, long attempt, boolean each, long published, boolean flowing) {
    /** The same task in the epoch after. */
    public TaskId next() {
      return new TaskId(epoch + 1, task, tenure, attempt, each, published, flowing);
    }
  }

  static SinkKind of(SinkSpec spec) {
    return switch (spec.kind()) {
      case "files" -> new FileSink();
      case "journal" -> new JournalSink();
      case "memory" -> new MemorySink();
      default -> load(spec);
    };
  }

  /** The jar is brought by the connector. */
  private static SinkKind load(SinkSpec spec) {
    try {
      ClassLoader loader = Thread.currentThread().getContextClassLoader();
      Class<?> found = Class.forName(spec.kind(), true, loader);
      return found.asSubclass(SinkKind.class).getDeclaredConstructor().newInstance();
    } catch (ClassNotFoundException e) {
      throw SinkException.badOption("sink \"" + spec.name() + "\" is of kind \"" + spec.kind()
          + "\", which is neither one of Millstream's nor a class on Spark's class path.");
    } catch (ReflectiveOperationException | ClassCastException e) {
      throw SinkException.badOption(
          "sink \"" + spec.name() + "\" is of kind \"" + spec.kind() + "\", which is no kind of sink: " + e);
    }
  }
}
