package millstream.checkpoint;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import millstream.journal.Disk;

/**
 * A checkpoint that was moved or copied after it was written. Spark records the full address of the file with the types
 * of a stage's state, and would look for it in the old place.
 */
public final class Moved {
  private static final Pattern SCHEMA = Pattern.compile("\"([^\"\\\\]*?)(/state/\\d+/_stateSchema/[^\"\\\\]*)\"");

  private Moved() {}

  /** Corrects the addresses under the folder that Spark keeps; returns how many files were changed. */
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
