package millstream.state;

/** A step was asked to take back what it does not have. */
public final class Absent extends IllegalStateException {
  private static final long serialVersionUID = 1L;

  public Absent(String step, String what) {
    super("MS-STATE-001: step \"" + step + "\" was asked to take back " + what + " that is not there."
        + " The sender retracted a row that it never sent, or sent it under another key.");
  }
}
