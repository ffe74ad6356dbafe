package millstream.faults;

/**
 * Named places where a test may kill the process, as a power cut would.
 *
 * <p>The system property {@code millstream.fault}, or the environment variable {@code MILLSTREAM_FAULT}, names one:
 * {@code point@epoch} (for example {@code sink.publish.before@3}), for its first visit in that epoch or a later one,
 * because an epoch without rows may not visit it; or {@code point} for its first visit. {@link Visits} reports them
 * all.
 */
public final class Faults {
  private static final String FAULT = System.getProperty("millstream.fault", System.getenv("MILLSTREAM_FAULT"));
  private static final String POINT = FAULT == null ? null : FAULT.split("@")[0];
  private static final long FIRST =
      POINT == null || FAULT.equals(POINT) ? 0 : Long.parseLong(FAULT.split("@")[1]);
  private static final Visits VISITS = Visits.asked();
  private static final int KILLED = 137;

  private Faults() {}

  /** Ends the process at once, without shutdown hooks, if this is the place that was named. */
  public static void at(String point, long epoch) {
    at(point, epoch, "");
  }

  /** The same, for a place that each sink has. */
  public static void at(String point, long epoch, String sink) {
    if (VISITS != null) {
      VISITS.tell(point, epoch, sink);
    }
    if (POINT != null && POINT.equals(point) && epoch >= FIRST) {
      System.err.println("fault: killed at " + point + "@" + epoch);
      Runtime.getRuntime().halt(KILLED);
    }
  }
}
