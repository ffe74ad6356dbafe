package millstream.protobuf;

/** An error that a user sees: columns and messages, or a row and its message, do not fit. */
public final class ProtobufException extends RuntimeException {
  private static final long serialVersionUID = 1L;
  private final String code;
  private final String reason;

  ProtobufException(String code, String reason) {
    super(code + ": " + reason);
    this.code = code;
    this.reason = reason;
  }

  /** The same, with the step that it happens in: {@code source "orders"}. */
  public ProtobufException in(String step) {
    return new ProtobufException(code, step + ": " + reason);
  }
}
