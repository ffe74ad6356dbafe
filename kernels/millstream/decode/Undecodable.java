package millstream.decode;

/** A record that cannot be read, and why. */
final class Undecodable extends Exception {
  private static final long serialVersionUID = 1L;

  Undecodable(String reason) {
    super(reason, null, false, false);
  }
}
