package millstream.sink;

/** An error that a user sees: it begins with its code, as in {@code MS-SINK-002: …}. */
public final class SinkException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  private SinkException(String message, Throwable cause) {
    super(message, cause);
  }

  static SinkException badOption(String what) {
    return new SinkException("MS-SINK-001: " + what, null);
  }

  static SinkException onlyAppends(String sink, long weight) {
    return new SinkException(
        "MS-SINK-002: sink \"" + sink + "\" only appends and was handed a row with weight " + weight + ".", null);
  }

  static SinkException preparedFileMissing(String sink, long epoch, String file) {
    return new SinkException(
        "MS-SINK-003: sink \"" + sink + "\": " + file + ", prepared for epoch " + epoch
            + ", is neither published nor there.",
        null);
  }

  static SinkException usedWriter(String sink, String writer) {
    return new SinkException(
        "MS-SINK-004: sink \"" + sink + "\": writer \"" + writer
            + "\" has written to this topic before; a batch needs a writer of its own.",
        null);
  }

  static SinkException claimed(String sink, String place) {
    return new SinkException(
        "MS-SINK-006: sink \"" + sink + "\": another run of this job is writing to " + place + ".", null);
  }

  static SinkException sinkGone(String writer, long epoch) {
    return new SinkException(
        "MS-SINK-008: epoch " + epoch + " has rows for sink " + writer
            + " that are committed and not yet published, and the job no longer has that sink.",
        null);
  }

  static SinkException gone(String sink, long has, long last) {
    return new SinkException(
        "MS-SINK-010: sink \"" + sink + "\" has rows of epoch " + has + ", and the checkpoint ends with epoch " + last
            + ": a copy of it has gone on.",
        null);
  }

  static SinkException publishFailed(Throwable cause) {
    return new SinkException("MS-SINK-005: a committed epoch could not be published: " + cause.getMessage(), cause);
  }
}
