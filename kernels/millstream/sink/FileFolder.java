package millstream.sink;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeMap;
import java.util.function.LongPredicate;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import millstream.journal.HadoopSettings;
import millstream.journal.Locks;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.LocalFileSystem;
import org.apache.hadoop.fs.Path;

/**
 * A folder that a file sink writes to. Readers leave out what begins with an underscore.
 *
 * <pre>
 *   _open/WRITER/TENURE/EPOCH/TASK/…   being written, or prepared
 *   _ready/WRITER-EPOCH/…              being published: all files of an epoch, and their manifest
 *   epoch=WRITER-EPOCH/…               published, by one rename of the folder
 *   _lock/WRITER                       held while a run writes
 * </pre>
 *
 * <p>In an object store, files are uploaded, and when an epoch counts, they appear in its folder one by one; its
 * manifest comes last.
 */
final class FileFolder {
  static final String MANIFEST = "_manifest.json";
  private static final Pattern READY = Pattern.compile("(.*)-(\\d{12})");

  private final FileSystem files;
  private final Path root;
  private final String writer;

  private FileFolder(FileSystem files, Path root, String writer) {
    this.files = files;
    this.root = root;
    this.writer = writer;
  }

  static FileFolder of(SinkSpec spec) throws IOException {
    Path root = new Path(spec.setting("path"));
    return new FileFolder(files(root), root, spec.writer());
  }

  /** A local disk without the checksum files that Hadoop would put beside each file. */
  static FileSystem files(Path path) throws IOException {
    FileSystem found = path.getFileSystem(HadoopSettings.conf());
    return found instanceof LocalFileSystem ? ((LocalFileSystem) found).getRaw() : found;
  }

  /** Whether an epoch is published by renaming its folder. If not, its files are uploaded and completed. */
  boolean renames() {
    return !"s3a".equals(files.getUri().getScheme());
  }

  /** One run at a time for each writer, on a local disk: others have no locks. */
  boolean claim(Locks locks) throws IOException {
    if (!"file".equals(files.getUri().getScheme())) {
      return true;
    }
    java.nio.file.Path folder = java.nio.file.Path.of(root.toUri().getPath(), "_lock");
    Files.createDirectories(folder);
    return locks.take(folder.toRealPath().resolve(writer));
  }

  private static String numbered(String writer, long epoch) {
    return String.format("%s-%012d", writer, epoch);
  }

  Path open() {
    return new Path(root, "_open/" + writer);
  }

  /** What tasks of earlier tenures wrote. */
  List<Path> openBefore(long tenure) throws IOException {
    return numbered(open(), number -> number < tenure);
  }

  /** What tasks of a tenure wrote of an epoch and of later ones. */
  List<Path> openFrom(long epoch, long tenure) throws IOException {
    return numbered(new Path(open(), Long.toString(tenure)), number -> number >= epoch);
  }

  private List<Path> numbered(Path folder, LongPredicate which) throws IOException {
    List<Path> found = new ArrayList<>();
    for (FileStatus status : list(folder)) {
      if (which.test(Long.parseLong(status.getPath().getName()))) {
        found.add(status.getPath());
      }
    }
    return found;
  }

  Path open(long tenure, long epoch) {
    return new Path(open(), tenure + "/" + epoch);
  }

  /** Where a task writes. */
  Path task(SinkKind.TaskId task) {
    return new Path(open(task.tenure(), task.epoch()), task.task() + "-" + task.attempt());
  }

  /** A path below the root as text that stays true when the root is moved. */
  String relative(Path path) {
    return root.toUri().relativize(path.toUri()).getPath();
  }

  Path absolute(String relative) {
    return new Path(root, relative);
  }

  Path ready(long epoch) {
    return new Path(root, "_ready/" + numbered(writer, epoch));
  }

  Path published(long epoch) {
    return new Path(root, "epoch=" + numbered(writer, epoch));
  }

  /** The epochs of this writer whose publication was begun. */
  TreeMap<Long, Path> ready() throws IOException {
    TreeMap<Long, Path> found = new TreeMap<>();
    for (FileStatus status : list(new Path(root, "_ready"))) {
      Matcher matcher = READY.matcher(status.getPath().getName());
      if (matcher.matches() && matcher.group(1).equals(writer)) {
        found.put(Long.parseLong(matcher.group(2)), status.getPath());
      }
    }
    return found;
  }

  private FileStatus[] list(Path folder) throws IOException {
    try {
      return files.listStatus(folder);
    } catch (FileNotFoundException e) {
      return new FileStatus[0];
    }
  }

  boolean exists(Path path) throws IOException {
    return files.exists(path);
  }

  void move(Path from, Path to) throws IOException {
    files.mkdirs(to.getParent());
    if (!files.rename(from, to)) {
      throw new IOException("cannot rename " + from + " to " + to);
    }
  }

  void write(Path path, byte[] bytes) throws IOException {
    try (var out = files.create(path, true)) {
      out.write(bytes);
    }
    sync(path);
  }

  void delete(Path path) throws IOException {
    files.delete(path, true);
  }

  /** Makes a file, or the names in a folder, survive a power cut. Other file systems do so by themselves. */
  void sync(Path path) throws IOException {
    if ("file".equals(files.getUri().getScheme())) {
      try (FileChannel channel =
          FileChannel.open(java.nio.file.Path.of(path.toUri().getPath()), StandardOpenOption.READ)) {
        channel.force(true);
      }
    }
  }

  Path root() {
    return root;
  }
}
