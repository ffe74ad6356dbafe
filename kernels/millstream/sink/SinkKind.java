package millstream.sink;

import java.io.IOException;

/** A kind of sink. A new kind is one class and one line in {@link #of}. */
public interface SinkKind {
  /** On an executor, at the first row of the sink in a task. */
  TaskWriter writer(SinkSpec spec, TaskId task) throws IOException;

  /** On the driver. */
  Committer committer(SinkSpec spec) throws IOException;

  /**
   * Which task writes, and how: {@code attempt} is unique within a run; {@code each} asks that every row can be
   * seen by readers of uncommitted rows as soon as it is written.
   */
  record TaskId(long epoch, int task, long attempt, boolean each) {}

  static SinkKind of(SinkSpec spec) {
    return switch (spec.kind()) {
      case "files" -> new FileSink();
      case "journal" -> new JournalSink();
      case "memory" -> new MemorySink();
      default -> throw SinkException.badOption(
          "sink \"" + spec.name() + "\" is of kind \"" + spec.kind() + "\", which does not exist.");
    };
  }
}
