package millstream.journal;

import java.util.Map;
import java.util.TreeMap;
import org.apache.spark.sql.connector.read.streaming.Offset;

/** The next offset of every part of a log: of each partition of a topic, or of each of several streams. */
public abstract class LogOffset<P extends Comparable<P>> extends Offset {
  private final TreeMap<P, Long> next;

  protected LogOffset(Map<P, Long> next) {
    this.next = new TreeMap<>(next);
  }

  /** A part that is not named was added since: it is read from its first record. */
  public final long of(P part) {
    return next.getOrDefault(part, 0L);
  }

  public final boolean names(P part) {
    return next.containsKey(part);
  }

  public final Map<P, Long> byPart() {
    return next;
  }
}
