package millstream.journal;

import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** What a reader of a topic may say. */
final class JournalOptions {
  final String path;
  final String topic;
  final String starting;
  final String ending;
  /** 0 for no limit. */
  final long maxRowsPerEpoch;

  JournalOptions(CaseInsensitiveStringMap options) {
    path = required(options, "path");
    topic = required(options, "topic");
    starting = options.getOrDefault("starting", "earliest").trim();
    ending = options.get("ending");
    maxRowsPerEpoch = options.getLong("maxRowsPerEpoch", 0);
  }

  private static String required(CaseInsensitiveStringMap options, String name) {
    String value = options.get(name);
    if (value == null || value.isBlank()) {
      throw JournalException.noOption(name);
    }
    return value;
  }

  Topic open() {
    return Topic.open(path, topic);
  }
}
