package millstream.barrier;

import java.util.Map;
import java.util.UUID;

/**
 * Knows which sources may be idle, and lets event time move without them. Sources are known by their watermark's name.
 */
public interface IdleSources {
  /** Whether there are sources that may be idle. */
  boolean rests();

  /**
   * How far time is now.
   *
   * @param quiet for how many milliseconds a source has had no row; none: that is not known, it may be held up
   * @param said how far each is by its rows
   */
  long now(Map<UUID, Long> quiet, Map<UUID, Long> said);
}
