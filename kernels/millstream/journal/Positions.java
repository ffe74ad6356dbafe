package millstream.journal;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.TreeMap;

/** Where records begin in segments, as far as this process has read them: an epoch goes on where the last ended. */
public final class Positions {
  private static final int SEGMENTS = 4096;
  private static final int PER_SEGMENT = 64;

  private static final Map<String, TreeMap<Long, Long>> KNOWN = new LinkedHashMap<>(64, 0.75f, true) {
    @Override
    protected boolean removeEldestEntry(Map.Entry<String, TreeMap<Long, Long>> eldest) {
      return size() > SEGMENTS;
    }
  };

  private Positions() {}

  /** Forgets all of them, for callers that replace the files that were read. */
  public static void forget() {
    synchronized (KNOWN) {
      KNOWN.clear();
    }
  }

  /** The time of creation is part of the key: a topic may be dropped and created again under the same path. */
  private static String key(String path, long created) {
    return path + "@" + created;
  }

  static void remember(String path, long created, long offset, long position) {
    synchronized (KNOWN) {
      TreeMap<Long, Long> known = KNOWN.computeIfAbsent(key(path, created), absent -> new TreeMap<>());
      known.put(offset, position);
      if (known.size() > PER_SEGMENT) {
        known.pollFirstEntry();
      }
    }
  }

  /** The nearest known offset that is not behind {@code offset}, with its position; null if there is none. */
  static Map.Entry<Long, Long> before(String path, long created, long offset) {
    synchronized (KNOWN) {
      TreeMap<Long, Long> known = KNOWN.get(key(path, created));
      return known == null ? null : known.floorEntry(offset);
    }
  }
}
