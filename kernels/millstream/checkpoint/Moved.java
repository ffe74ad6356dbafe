package millstream.checkpoint;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import millstream.journal.Disk;

/**
 * A checkpoint that lies elsewhere than when it was written. Spark notes by full address where the types of a stage's
 * state are described: in a folder that was moved or copied it would look for them where they were.
 */
public final class Moved {
  private static final Pattern SCHEMA = Pattern.compile("\"([^\"\\\\]*?)(/state/\\d+/_stateSchema/[^\"\\\\]*)\"");

  private Moved() {}

  /** Mends the addresses under the folder that Spark keeps; gives how many files had others. */
  public static int mend(String spark) throws IOException {
    Disk disk = Disk.of(spark);
    String folder = Disk.plain(spark);
    String address = disk.isLocal() ? "file:" + folder : folder;
    int mended = 0;
    for (String stage : disk.list(folder + "/state")) {
      String about = folder + "/state/" + stage + "/_metadata/v2";
      for (String name : disk.list(about)) {
        mended += name.chars().allMatch(Character::isDigit) && mend(disk, about + "/" + name, address) ? 1 : 0;
      }
    }
    return mended;
  }

  private static boolean mend(Disk disk, String file, String address) throws IOException {
    String text = new String(disk.readAll(file), StandardCharsets.UTF_8);
    String mended = SCHEMA.matcher(text).replaceAll("\"" + Matcher.quoteReplacement(address) + "$2\"");
    if (mended.equals(text)) {
      return false;
    }
    disk.writeAtomically(file, mended.getBytes(StandardCharsets.UTF_8));
    return true;
  }
}
