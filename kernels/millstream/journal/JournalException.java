package millstream.journal;

/** An error that a user sees: it begins with its code, as in {@code MS-JOURNAL-001: …}. */
public final class JournalException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  private JournalException(String message) {
    super(message);
  }

  static JournalException noTopic(String journal, String topic, java.util.List<String> known) {
    String found = known.isEmpty() ? "no topics" : "topics " + String.join(", ", known);
    return new JournalException(
        "MS-JOURNAL-001: topic \"" + topic + "\" does not exist in journal " + journal + ".\n  found: " + found);
  }

  static JournalException unknownFormat(String file, String found) {
    return new JournalException(
        "MS-JOURNAL-002: " + file + " is not of a format that this version reads.\n  found: " + found);
  }

  static JournalException corrupt(String topic, int partition, long offset, long at, String file, String found) {
    return new JournalException("MS-JOURNAL-003: topic \"" + topic + "\", partition " + partition
        + ": the record at offset " + offset + " (byte " + at + " of " + file + ") is corrupt.\n  found: " + found);
  }

  static JournalException outOfRange(String topic, int partition, long offset, long first, long end) {
    return new JournalException("MS-JOURNAL-004: topic \"" + topic + "\", partition " + partition + " has no offset "
        + offset + " to read from.\n  found: offsets " + first + " to " + end);
  }

  static JournalException notOffsets(String option, String text) {
    return new JournalException("MS-JOURNAL-004: option " + option + " is not a list of offsets: " + text
        + "\n  hint:  write it as {\"0\": 12, \"1\": 7}, partition to offset");
  }

  static JournalException locked(String topic, int partition) {
    return new JournalException(
        "MS-JOURNAL-005: topic \"" + topic + "\", partition " + partition + " has another writer.");
  }

  static JournalException noOption(String option) {
    return new JournalException("MS-JOURNAL-006: option " + option + " of millstream-journal is missing.");
  }
}
