package millstream.journal;

import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** All segments of a partition at one moment, also those that others stand for. */
final class SegmentListing {
  private final Disk disk;
  private final String folder;
  private final Map<SegmentName, Long> modified = new HashMap<>();
  private final List<SegmentName> all = new ArrayList<>();
  private final List<SegmentName> log;

  SegmentListing(Disk disk, String folder) throws IOException {
    this.disk = disk;
    this.folder = folder;
    for (Disk.Entry entry : disk.entries(folder)) {
      SegmentName name = SegmentName.of(entry.name(), entry.size());
      if (name != null) {
        all.add(name);
        modified.put(name, entry.modified());
      }
    }
    all.sort(null);
    log = SegmentName.uncovered(all);
  }

  /** In the order of the log, without those that others stand for. */
  List<SegmentName> log() {
    return log;
  }

  boolean older(SegmentName segment, Duration than) {
    return System.currentTimeMillis() - modified.get(segment) >= than.toMillis();
  }

  /** Deletes those that others have stood for so long. */
  void deleteCovered(Duration wait, Merging.Leave leave) throws IOException {
    Set<SegmentName> stay = new HashSet<>(log);
    for (SegmentName segment : all) {
      boolean over = !stay.contains(segment)
          && log.stream()
              .anyMatch(
                  by -> by.merged() && by.base() <= segment.base() && segment.base() < by.end() && older(by, wait));
      if (over && leave.given()) {
        // An object that nothing names would stay for ever: what names it comes last.
        disk.delete(folder + "/" + segment.path());
        disk.delete(folder + "/" + segment.file());
      }
    }
  }
}
