package millstream.checkpoint;

import java.io.IOException;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import millstream.journal.Disk;

/**
 * What runs that were killed left in a checkpoint: files that are half written, and the state of epochs that never
 * counted. To be deleted by the run that has taken over, before it writes.
 */
public final class Orphans {
  private static final Pattern STATE = Pattern.compile("(\\d+)_.*\\.(?:changelog|zip)(?:\\.crc)?");

  private final Disk disk;
  private final long last;
  private int deleted;

  private Orphans(Disk disk, long last) {
    this.disk = disk;
    this.last = last;
  }

  /** Of the folder that Spark keeps; {@code last}: the last epoch that counts. Returns how many files were deleted. */
  public static int delete(String spark, long last) throws IOException {
    Orphans orphans = new Orphans(Disk.of(spark), last);
    String folder = Disk.plain(spark);
    orphans.halfWritten(folder);
    orphans.halfWritten(Disk.folderOf(folder));
    for (Disk.Entry stage : orphans.disk.entries(folder + "/state")) {
      if (stage.folder()) {
        orphans.stage(folder + "/state/" + stage.name());
      }
    }
    return orphans.deleted;
  }

  private void stage(String folder) throws IOException {
    for (Disk.Entry task : disk.entries(folder)) {
      if (task.folder() && task.name().chars().allMatch(Character::isDigit)) {
        halfWritten(folder + "/" + task.name());
        neverCounted(folder + "/" + task.name());
      }
    }
  }

  private void halfWritten(String folder) throws IOException {
    for (String name : disk.list(folder)) {
      if (Disk.isPart(name)) {
        disk.delete(folder + "/" + name);
        deleted++;
      }
    }
  }

  /** An epoch's state has the number of the next one. */
  private void neverCounted(String folder) throws IOException {
    for (String name : disk.list(folder)) {
      Matcher state = STATE.matcher(name);
      if (state.matches() && Long.parseLong(state.group(1)) > last + 1) {
        disk.delete(folder + "/" + name);
        deleted++;
      }
    }
  }
}
