package millstream.commit;

/** An error that a user sees: it begins with its code. */
public final class CheckpointException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  private CheckpointException(String message) {
    super(message);
  }

  public static CheckpointException inUse(String checkpoint) {
    return new CheckpointException(
        "MS-CHECKPOINT-005: another run of this job goes on from the checkpoint " + checkpoint + ".");
  }

  static CheckpointException takenOver(String checkpoint) {
    return new CheckpointException("MS-CHECKPOINT-006: another run of this job has taken over the checkpoint "
        + checkpoint + ", and goes on from there.");
  }
}
