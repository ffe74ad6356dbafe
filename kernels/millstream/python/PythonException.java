package millstream.python;

/** Why a user's Python code, or the process that runs it, failed; the message begins with its code. */
public final class PythonException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  PythonException(String message) {
    super(message);
  }
}
