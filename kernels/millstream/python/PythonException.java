package millstream.python;

/** What a user's Python code, or the process that runs it, died of; the message has its code in front. */
public final class PythonException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  PythonException(String message) {
    super(message);
  }
}
