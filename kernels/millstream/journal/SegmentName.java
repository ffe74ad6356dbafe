package millstream.journal;

import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The name of a segment in a partition's folder: its base, and the token of the sink that published it. */
public record SegmentName(String file, long base, String token) implements Comparable<SegmentName> {
  private static final Pattern NAME = Pattern.compile("(\\d{20})(?:-([\\w.]+-\\d{12}-\\d{5}))?\\.seg");
  private static final Pattern OPEN = Pattern.compile("([\\w.]+)-(\\d{12})-(\\d{5})-(\\d+)-(\\d+)\\.seg");

  /** Null if the name is not that of a segment. */
  static SegmentName of(String file) {
    Matcher matcher = NAME.matcher(file);
    return matcher.matches() ? new SegmentName(file, Long.parseLong(matcher.group(1)), matcher.group(2)) : null;
  }

  public boolean byProducer() {
    return token == null;
  }

  /** Segments without records share their base with the next one; a published one is never empty, so comes last. */
  @Override
  public int compareTo(SegmentName other) {
    int byBase = Long.compare(base, other.base);
    return byBase != 0 ? byBase : Boolean.compare(!byProducer(), !other.byProducer());
  }

  public static String published(long base, String token) {
    return String.format("%020d-%s.seg", base, token);
  }

  public static String token(String writer, long epoch, int task) {
    return String.format("%s-%012d-%05d", writer, epoch, task);
  }

  /** A file in {@code open/}: whose it is. */
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
  }
}
