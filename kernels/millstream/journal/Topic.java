package millstream.journal;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** A topic that is there. */
public final class Topic {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final int FORMAT = 1;
  /** Of a topic that may have compacted segments. */
  private static final int COMPACTED = 2;

  private final Disk disk;
  private final String journal;
  private final String name;
  private final int partitions;
  private final Retention.Keep keep;

  private Topic(Disk disk, String journal, String name, int partitions, Retention.Keep keep) {
    this.disk = disk;
    this.journal = journal;
    this.name = name;
    this.partitions = partitions;
    this.keep = keep;
  }

  public static Topic open(String journal, String name) {
    Disk disk = Disk.of(journal);
    String folder = Disk.plain(journal);
    try {
      String description = description(folder, name);
      boolean possible = !name.isEmpty() && !name.startsWith(".") && !name.contains("/");
      byte[] text = possible ? disk.readIfThere(description) : null;
      if (text == null) {
        throw JournalException.noTopic(journal, name, names(disk, folder));
      }
      JsonNode json = JSON.readTree(text);
      int format = json.path("format").asInt();
      if (format != FORMAT && format != COMPACTED || json.path("partitions").asInt() < 1) {
        throw JournalException.unknownFormat(description, json.toString());
      }
      Retention.Keep keep = new Retention.Keep(
          json.path("keep_ms").asLong(Long.MAX_VALUE),
          json.path("keep_bytes").asLong(Long.MAX_VALUE),
          json.path("compact_ms").asLong(Long.MAX_VALUE));
      return new Topic(disk, folder, name, json.get("partitions").asInt(), keep);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** A topic that is known to be there: the disk is not asked. */
  public static Topic of(String journal, String name, int partitions) {
    return of(journal, name, partitions, Retention.Keep.ALL);
  }

  public static Topic of(String journal, String name, int partitions, Retention.Keep keep) {
    return new Topic(Disk.of(journal), Disk.plain(journal), name, partitions, keep);
  }

  private static String description(String journal, String name) {
    return journal + "/" + name + "/topic.json";
  }

  private static List<String> names(Disk disk, String journal) throws IOException {
    List<String> names = new ArrayList<>();
    for (String name : disk.list(journal)) {
      if (disk.exists(description(journal, name))) {
        names.add(name);
      }
    }
    names.sort(null);
    return names;
  }

  public Disk disk() {
    return disk;
  }

  public String name() {
    return name;
  }

  public int partitions() {
    return partitions;
  }

  /** What its writers keep of it. */
  public Retention.Keep keep() {
    return keep;
  }

  public String folder() {
    return journal + "/" + name;
  }

  public String folder(int partition) {
    return folder() + "/" + partition;
  }

  /** Where a task writes its rows of an epoch. */
  public String open(int partition, SegmentName.Open file) {
    return folder(partition) + "/" + file.path(disk.renames());
  }

  /** Held by the one writer of a partition, on a local disk. */
  Path lock(int partition) throws IOException {
    return Path.of(folder(partition)).toRealPath().resolve("lock");
  }

  public PartitionLog log(int partition) {
    return new PartitionLog(disk, folder(partition), name, partition);
  }
}
