package millstream.journal;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The name of a segment in a partition's folder: its base, and the token of the sink that published it.
 *
 * <p>Where nothing can be renamed, an epoch's file stays where its task wrote it, and what is published is an empty
 * object, whose name tells all that there is to know of it.
 *
 * @param file the name in the partition's folder
 * @param token null: a producer wrote it
 * @param path of its records, below the partition's folder
 * @param records how many it has; -1: they must be counted
 * @param size in bytes; -1: it may grow, or is not known yet
 */
public record SegmentName(String file, long base, String token, String path, long records, long size)
    implements Comparable<SegmentName>, Serializable {
  private static final Pattern NAME = Pattern.compile("(\\d{20})(?:-([\\w.]+-\\d{12}-\\d{5}))?\\.seg");
  private static final Pattern NAMING =
      Pattern.compile("(\\d{20})-(([\\w.]+-\\d{12})-(\\d{5}))-(\\d+-\\d+)-(\\d+)-(\\d+)\\.ref");
  private static final Pattern MERGED = Pattern.compile("(\\d{20})-([\\w.]+-(\\d{20}))\\.seg");
  private static final Pattern OPEN = Pattern.compile("([\\w.]+)-(\\d{12})-(\\d{5})-(\\d+)-(\\d+)\\.seg");

  /** Null if the name is not that of a segment. */
  static SegmentName of(String file) {
    return of(file, -1);
  }

  /** The same, of a file whose size is known, and stays so. */
  static SegmentName of(String file, long size) {
    Matcher matcher = NAME.matcher(file);
    if (matcher.matches()) {
      return new SegmentName(file, Long.parseLong(matcher.group(1)), matcher.group(2), file, -1, size);
    }
    Matcher merged = MERGED.matcher(file);
    if (merged.matches()) {
      long base = Long.parseLong(merged.group(1));
      return new SegmentName(file, base, merged.group(2), file, Long.parseLong(merged.group(3)) - base, size);
    }
    Matcher naming = NAMING.matcher(file);
    return !naming.matches()
        ? null
        : new SegmentName(
            file,
            Long.parseLong(naming.group(1)),
            naming.group(2),
            "epochs/" + naming.group(3) + "/" + naming.group(4) + "-" + naming.group(5) + ".seg",
            Long.parseLong(naming.group(6)),
            Long.parseLong(naming.group(7)));
  }

  public boolean byProducer() {
    return token == null;
  }

  /** Whether it holds what several segments held before. */
  boolean merged() {
    return records >= 0 && path.equals(file);
  }

  /** The offset after its last record; -1: its records must be counted. */
  long end() {
    return records < 0 ? -1 : base + records;
  }

  /** Whether a sink whose tokens begin so wrote it. */
  boolean writtenBy(String writer) {
    return !byProducer() && token.startsWith(writer + "-");
  }

  /** The epoch in which a sink published it; not of a merged one. */
  long epoch() {
    String[] parts = token.split("-");
    return Long.parseLong(parts[parts.length - 2]);
  }

  /**
   * Segments without records share their base with the next one; a published one is never empty, so comes last. Of
   * those that begin at the same record, the one that was merged comes first.
   */
  @Override
  public int compareTo(SegmentName other) {
    int byBase = Long.compare(base, other.base);
    int byKind = byBase != 0 ? byBase : Boolean.compare(!byProducer(), !other.byProducer());
    return byKind != 0 || !merged() && !other.merged() ? byKind : Long.compare(mergedEnd(other), mergedEnd(this));
  }

  private static long mergedEnd(SegmentName segment) {
    return segment.merged() ? segment.end() : -1;
  }

  /** Without those whose records are in a merged one, too: {@code all} is in order. */
  static List<SegmentName> uncovered(List<SegmentName> all) {
    List<SegmentName> found = new ArrayList<>();
    long covered = -1;
    for (SegmentName segment : all) {
      long end = segment.merged() ? segment.end() : segment.base() + 1;
      if (segment.byProducer() || end > covered) {
        found.add(segment);
        covered = segment.merged() ? end : covered;
      }
    }
    return found;
  }

  static String merged(long base, String writer, long end) {
    return String.format("%020d-%s-%020d.seg", base, writer, end);
  }

  static String published(long base, String token) {
    return String.format("%020d-%s.seg", base, token);
  }

  /** The empty object that publishes an epoch's file where it lies. */
  static String naming(long base, Open open, long records, long bytes) {
    return String.format("%020d-%s-%d-%d-%d-%d.ref", base, open.token(), open.tenure(), open.attempt(), records, bytes);
  }

  public static String token(String writer, long epoch, int task) {
    return String.format("%s-%012d-%05d", writer, epoch, task);
  }

  /** The folder of an epoch's files, where they stay as they are written. */
  static String epochs(String writer, long epoch) {
    return String.format("epochs/%s-%012d", writer, epoch);
  }

  /** A file of an epoch that is not published: whose it is. */
  public record Open(String file, String writer, long epoch, int task, long tenure, long attempt) {
    /** Null if the name is not that of an open file. */
    public static Open of(String file) {
      Matcher matcher = OPEN.matcher(file);
      return !matcher.matches()
          ? null
          : new Open(
              file,
              matcher.group(1),
              Long.parseLong(matcher.group(2)),
              Integer.parseInt(matcher.group(3)),
              Long.parseLong(matcher.group(4)),
              Long.parseLong(matcher.group(5)));
    }

    public static Open of(String writer, long epoch, int task, long tenure, long attempt) {
      String file = SegmentName.token(writer, epoch, task) + "-" + tenure + "-" + attempt + ".seg";
      return new Open(file, writer, epoch, task, tenure, attempt);
    }

    public String token() {
      return SegmentName.token(writer, epoch, task);
    }

    /** Of a file that stays where its task wrote it: {@code <task>-<tenure>-<attempt>.seg}. */
    static long tenureOf(String name) {
      return Long.parseLong(name.split("-")[1]);
    }

    /** Below the partition's folder. */
    String path(boolean renamed) {
      return renamed
          ? "open/" + file
          : String.format("%s/%05d-%d-%d.seg", epochs(writer, epoch), task, tenure, attempt);
    }
  }
}
