package millstream.time;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.UUID;
import org.apache.spark.sql.streaming.SourceProgress;

/** A source with a time: how far it is, and when it last had rows. */
final class Timed {
  private static final long NEVER = Long.MAX_VALUE;

  final String name;
  final UUID watermark;
  final long lateness;
  private final int place;
  private final long idleAfter;
  private String read;
  private long activeAt;
  private boolean idle;

  Timed(JsonNode spec, long now) {
    this.name = spec.get("name").asText();
    this.watermark = UUID.fromString(spec.get("watermark").asText());
    this.lateness = spec.get("lateness_ms").asLong();
    this.place = spec.get("place").asInt();
    this.idleAfter = spec.path("idle_after_ms").asLong(NEVER);
    this.activeAt = now;
  }

  /** Whether it may become idle at all. */
  boolean mayRest() {
    return idleAfter < NEVER;
  }

  long idleAfter() {
    return idleAfter;
  }

  long activeAt() {
    return activeAt;
  }

  boolean idle() {
    return idle;
  }

  /** An epoch has ended: did it read anything from this source? In real time, only the next one says how far. */
  void note(SourceProgress[] sources, long now) {
    SourceProgress source = sources[place];
    String at = source.endOffset() == null ? source.startOffset() : source.endOffset();
    if (at != null && !at.equals(read)) {
      read = at;
      activeAt = now;
    }
  }

  /** No row has come for {@code millis}; NULL: that is not known, and rows may be waiting. */
  void rest(Long millis, long now) {
    activeAt = millis == null ? activeAt : now - millis;
    idle = mayRest() && millis != null && millis >= idleAfter;
  }

  /** Up to this moment it is known what it had. */
  void judge(long known) {
    idle = mayRest() && known - activeAt >= idleAfter;
  }
}
