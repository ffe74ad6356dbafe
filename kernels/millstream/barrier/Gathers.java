package millstream.barrier;

/** A stage that gathers rows before it does anything with them. */
public interface Gathers {
  /**
   * How long what is gathered may still wait, in nanoseconds: 0 or less if it must be sent now; the greatest value if
   * there is nothing.
   */
  long patience();
}
