package millstream.rabbitmq;

/** An error that a user sees: it begins with its code, as in {@code MS-RABBITMQ-003: …}. */
final class RabbitException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  private RabbitException(String message, Throwable cause) {
    super(message, cause);
  }

  static RabbitException noAnswer(String found, Throwable cause) {
    return new RabbitException("MS-RABBITMQ-003: RabbitMQ does not answer.\n  found: " + found, cause);
  }

  static RabbitException noStream(String stream, String found) {
    return new RabbitException("MS-RABBITMQ-004: RabbitMQ has no stream \"" + stream + "\".\n  found: " + found, null);
  }

  static RabbitException refused(String found, Throwable cause) {
    return new RabbitException("MS-RABBITMQ-005: RabbitMQ refuses access.\n  found: " + found, cause);
  }

  static RabbitException lost(String stream, long wanted, long first) {
    return new RabbitException(
        "MS-RABBITMQ-008: records of stream \"" + stream + "\" that the job was to read are no longer there.\n"
            + "  found: it was to go on at offset " + wanted + ", and the stream begins at " + first
            + "\n  hint:  keep records longer than the job may be away; to go on with what is left, say"
            + " on_loss=\"skip\"",
        null);
  }

  static RabbitException notOffsets(String text) {
    return new RabbitException("MS-RABBITMQ-009: not a list of offsets by stream: " + text, null);
  }
}
