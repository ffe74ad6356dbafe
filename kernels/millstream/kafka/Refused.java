package millstream.kafka;

import org.apache.kafka.common.config.ConfigException;
import org.apache.kafka.common.errors.AuthenticationException;
import org.apache.kafka.common.errors.AuthorizationException;
import org.apache.kafka.common.protocol.Errors;

/** What brokers refuse for good: another try would fail in the same way. */
final class Refused {
  /** A producer wraps this answer into a generic exception. */
  private static final String TIMEOUT = Errors.INVALID_TRANSACTION_TIMEOUT.message();

  private Refused() {}

  static boolean is(Throwable error) {
    for (Throwable cause = error; cause != null; cause = cause.getCause()) {
      if (cause instanceof AuthenticationException
          || cause instanceof AuthorizationException
          || cause instanceof ConfigException
          || String.valueOf(cause.getMessage()).contains(TIMEOUT)) {
        return true;
      }
    }
    return false;
  }
}
