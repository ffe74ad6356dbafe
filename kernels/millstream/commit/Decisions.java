package millstream.commit;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.nio.file.NoSuchFileException;
import java.util.ArrayDeque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.UUID;
import millstream.faults.Faults;
import millstream.journal.Disk;

/**
 * Who may commit is decided in the commit itself: by one sequence of files, each of which can be created once.
 *
 * <pre>
 *   decisions/ 7 run A takes over   8 epoch 3   9 epoch 4   10 run B takes over   11 epoch 5 …
 *                                                ▲ where A is: it wants 10, finds it taken, and ends
 * </pre>
 *
 * <p>No locks and no clocks: a run that hangs for an hour and wakes is refused as any other. The highest number and all
 * takeovers stay forever, so that a number that was taken is never free again for a run that may still want it.
 */
public final class Decisions {
  private final Disk disk;
  private final String folder;
  private final String run;

  /** The last number, which is ours. */
  private long at;

  private long takenOverAt;

  private boolean asked;

  private boolean inDoubt;

  /** Commits whose files are there, oldest first; the last one stays. */
  private final ArrayDeque<Decision> kept = new ArrayDeque<>();

  /** The commit that Spark's log does not have yet: until then this is the only copy. */
  private Decision unrecorded;

  /** What sinks have prepared for epochs that are not decided yet. */
  private final Map<Long, ObjectNode> prepared = new HashMap<>();

  private Decisions(Disk disk, String folder, String process) {
    this.disk = disk;
    this.folder = folder;
    this.run = process + "." + UUID.randomUUID();
  }

  /** From here on, earlier runs of the job cannot commit any more. */
  public static Decisions takeOver(String folder) throws IOException {
    return takeOver(folder, UUID.randomUUID().toString(), false);
  }

  /**
   * The same for a process that may start a job several times. A start that it repeats by itself is refused if another
   * process has taken over. Its own starts that failed right after taking over do not count as another process.
   */
  public static Decisions takeOver(String folder, String process, boolean again) throws IOException {
    return takeOver(Disk.of(folder), Disk.plain(folder), process, again);
  }

  static Decisions takeOver(Disk disk, String folder, String process, boolean again) throws IOException {
    Decisions decisions = new Decisions(disk, folder, process);
    decisions.disk.makeFolder(decisions.folder);
    while (!decisions.takeNext(again ? process + "." : "")) {
      // Another process decided something meanwhile.
    }
    return decisions;
  }

  private boolean takeNext(String own) throws IOException {
    TreeSet<Long> numbers = numbers();
    long next = numbers.isEmpty() ? 0 : numbers.last() + 1;
    Decision last = numbers.isEmpty() ? null : read(numbers.last());
    if (last == null && !numbers.isEmpty()) {
      return false;
    }
    if (last != null && !last.run().startsWith(own)) {
      throw takenOver();
    }
    long from = last == null ? next : last.from();
    // A number below one that exists may be free because it was used, and its file deleted. Then it is worth nothing.
    if (!create(next, Decision.takeover(next, run, from)) || !numbers().last().equals(next)) {
      return false;
    }
    at = next;
    takenOverAt = next;
    for (long number : numbers.tailSet(from)) {
      Decision found = read(number);
      if (found != null && found.commits()) {
        kept.add(found);
      }
    }
    return true;
  }

  private boolean create(long number, Decision decision) throws IOException {
    try {
      return disk.createNew(path(number), decision.json());
    } catch (IOException error) {
      throw notWritten(number, error);
    }
  }

  private void replace(Decision decision) throws IOException {
    try {
      disk.writeAtomically(path(decision.number()), decision.json());
    } catch (IOException error) {
      throw notWritten(decision.number(), error);
    }
  }

  /** Runs recognise by these words that a checkpoint failed. */
  private IOException notWritten(long number, IOException error) {
    return new IOException(
        "the checkpoint's file " + path(number) + " could not be written: " + error.getMessage(), error);
  }

  private TreeSet<Long> numbers() throws IOException {
    TreeSet<Long> numbers = new TreeSet<>();
    for (String name : disk.list(folder)) {
      if (!name.isEmpty() && name.chars().allMatch(c -> c >= '0' && c <= '9')) {
        numbers.add(Long.parseLong(name));
      }
    }
    return numbers;
  }

  /** Null if it is gone. */
  private Decision read(long number) throws IOException {
    try {
      return Decision.parse(number, disk.readAll(path(number)));
    } catch (FileNotFoundException | NoSuchFileException e) {
      return null;
    }
  }

  private String path(long number) {
    return String.format("%s/%012d", folder, number);
  }

  /** The name of this run. */
  public String run() {
    return run;
  }

  /** A number of this run that no other has. */
  public long tenure() {
    return takenOverAt;
  }

  /** A query's commit log asks here before it commits an epoch. */
  public synchronized void areAsked() {
    asked = true;
  }

  /** An epoch that Spark commits by itself would never be published. */
  public synchronized void requireAsked() {
    if (!asked) {
      throw new IllegalStateException("MS-SETUP-004: this Spark keeps its commit log elsewhere than Spark 4.3.");
    }
  }

  /** The last epoch that counts; -1: none. */
  public synchronized long lastEpoch() {
    return kept.isEmpty() ? -1 : kept.getLast().epoch();
  }

  /** How far each source was at the last epoch that counts. */
  public synchronized ObjectNode lastWatermarks() {
    return kept.isEmpty()
        ? JsonNodeFactory.instance.objectNode()
        : kept.getLast().watermarks();
  }

  /** All sinks have prepared their rows of an epoch. By writer, what must be known to publish them. */
  public synchronized void prepared(long epoch, ObjectNode sinks) {
    prepared.put(epoch, sinks);
  }

  /** Decides that an epoch counts: everything else of it is durable. Refuses if another run has taken over. */
  public synchronized void commit(long epoch, String commit, ObjectNode watermarks) throws IOException {
    ObjectNode sinks = prepared.remove(epoch);
    List<Decision> open = unpublished();
    long next = at + 1;
    long from = open.isEmpty() ? next : open.get(0).number();
    ObjectNode listed = sinks == null ? JsonNodeFactory.instance.objectNode() : sinks;
    Decision decision = new Decision(next, run, from, epoch, commit, watermarks, listed);
    Faults.at("decision.before", epoch);
    inDoubt = true;
    if (!create(next, decision)) {
      throw takenOver();
    }
    inDoubt = false;
    at = next;
    kept.add(decision);
    unrecorded = decision;
    Faults.at("decision.after", epoch);
    deleteOld();
  }

  /** The commit that Spark's log may lack, if the query was stopped just then; null: none. */
  public synchronized Decision unrecorded() {
    return unrecorded;
  }

  /** Spark's log has the last commit. */
  public synchronized void recorded() {
    unrecorded = null;
  }

  /**
   * Whether a commit has failed in a way that leaves open if it was made: its file may be there, or may still come. The
   * next run finds out, for it takes the next number. Until then nothing that the epoch has prepared may be thrown
   * away.
   */
  public synchronized boolean inDoubt() {
    return inDoubt;
  }

  /** Epochs that count and are not known to be published, oldest first. */
  public synchronized List<Decision> unpublished() {
    return kept.stream()
        .filter(decision -> !decision.isPublished() && decision != unrecorded)
        .toList();
  }

  /** All sinks have published an epoch. It must not be repeated: its rows may be gone by then, or its names reused. */
  public synchronized void published(Decision decision) throws IOException {
    Decision done = decision.published();
    if (!decision.sinks().isEmpty()) {
      replace(done);
    }
    ArrayDeque<Decision> now = new ArrayDeque<>();
    kept.forEach(one -> now.add(one == decision ? done : one));
    kept.clear();
    kept.addAll(now);
    deleteOld();
  }

  /** All but the last commit, as far as they are published. */
  private void deleteOld() throws IOException {
    while (kept.size() > 1 && kept.getFirst().isPublished()) {
      disk.delete(path(kept.removeFirst().number()));
    }
  }

  /** Refuses if another run has taken over: before something is thrown away that may be its own. */
  public synchronized void requireOwn() throws IOException {
    long last = numbers().last();
    if (last == at) {
      return;
    }
    // The next one may be ours, if we were stopped in mid-commit: then the next run finishes it.
    Decision next = last == at + 1 ? read(last) : null;
    if (next == null || !next.run().equals(run)) {
      throw takenOver();
    }
  }

  private CheckpointException takenOver() {
    return CheckpointException.takenOver(Disk.folderOf(folder));
  }
}
