package millstream.sink;

import java.io.IOException;

/** A kind of sink. A new kind is one class and one line in {@link #of}. */
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
   * Which task writes, and how: {@code attempt} is unique within a run; {@code each} asks that every row can be
   * seen by readers of uncommitted rows as soon as it is written. {@code published}: the last epoch that is known to be
   * published, for kinds that publish before the next.
   */
  record TaskId(long epoch, int task, long attempt, boolean each, long published) {}

  static SinkKind of(SinkSpec spec) {
    return switch (spec.kind()) {
      case "files" -> new FileSink();
      case "journal" -> new JournalSink();
      case "kafka" -> load("millstream.kafka.KafkaSink");
      case "memory" -> new MemorySink();
      default -> throw SinkException.badOption(
          "sink \"" + spec.name() + "\" is of kind \"" + spec.kind() + "\", which does not exist.");
    };
  }

  /** Kinds that need more than Spark's own jars come in jars of their own. */
  private static SinkKind load(String name) {
    try {
      ClassLoader loader = Thread.currentThread().getContextClassLoader();
      return (SinkKind) Class.forName(name, true, loader).getDeclaredConstructor().newInstance();
    } catch (ReflectiveOperationException e) {
      throw SinkException.badOption(name + " is not on Spark's class path.");
    }
  }
}
