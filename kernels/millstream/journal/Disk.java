package millstream.journal;

import java.io.Closeable;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.file.NoSuchFileException;
import java.time.Duration;
import java.util.List;
import java.util.UUID;
import org.apache.hadoop.fs.FileAlreadyExistsException;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.hdfs.DistributedFileSystem;

/**
 * Where a checkpoint or a journal lies. A local disk is used without Hadoop in between: tailing needs its speed.
 *
 * <p>Who finds a name taken that must be new is told by Hadoop's FileAlreadyExistsException, on every disk.
 */
public interface Disk {
  String PART = ".part";

  /** What lies in a folder. {@code modified}: in milliseconds since 1970; of a folder it may be 0. */
  record Entry(String name, long size, long modified, boolean folder) {}

  /** A file that is read at any position, also while it grows. */
  interface Input extends Closeable {
    /** Reads what is there, up to {@code length} bytes; -1 at the end of the file as it is now. */
    int read(long position, byte[] into, int offset, int length) throws IOException;

    long size() throws IOException;
  }

  /** A file that is appended to. */
  interface Output extends Closeable {
    /** The bytes are with the operating system when this returns (local disk). */
    void write(byte[] bytes, int offset, int length) throws IOException;

    /** Lets readers see what was written, where {@link #write} alone does not. */
    void flush() throws IOException;

    /** Returns when the bytes survive a power cut. Of an object, that is when it is closed. */
    void sync() throws IOException;

    /** Closes it; the caller deletes what is left. */
    default void abort() throws IOException {
      close();
    }
  }

  /** A file that is not there before it is closed, and then whole and durable. */
  abstract class Whole extends OutputStream {
    /** Nothing is left of it. After this, closing does nothing. */
    public abstract void cancel() throws IOException;
  }

  /** Names in a folder, in no order; none if there is no such folder. */
  default List<String> list(String folder) throws IOException {
    return entries(folder).stream().map(Entry::name).toList();
  }

  /** What lies in a folder, in no order; nothing if there is no such folder. */
  List<Entry> entries(String folder) throws IOException;

  /** How long to wait before a folder is listed again, when waiting for a new name. */
  Duration listEvery();

  /** How long rows may wait before they are flushed; zero: each can be, at once, or it has no effect. */
  default Duration flushEvery() {
    return Duration.ZERO;
  }

  /** Whether an epoch's file gets the name under which it is published. If not, a small object names it. */
  boolean renames();

  /** A number that changes when a name in the folder does, or -1 if that cannot be told cheaply. */
  long stamp(String folder) throws IOException;

  boolean exists(String path) throws IOException;

  /** Stays the same when the file gets another name, where it can get one. */
  default String identity(String path) throws IOException {
    return path;
  }

  void makeFolder(String folder) throws IOException;

  Input open(String path) throws IOException;

  /** The same, for a caller that knows the file's final length. */
  default Input open(String path, long size) throws IOException {
    return open(path);
  }

  Output create(String path) throws IOException;

  /** Atomic; fails if the target is there already. */
  void rename(String from, String to) throws IOException;

  /** As {@link #rename}, but takes the place of what is there: at every moment there is the old one or the new one. */
  void replace(String from, String to) throws IOException;

  /** A file, if it is there. */
  void delete(String path) throws IOException;

  /** A folder with all that is in it, or a file. */
  void deleteAll(String path) throws IOException;

  void truncate(String path, long length) throws IOException;

  /** Makes renames and new names in the folder survive a power cut. */
  void syncFolder(String folder) throws IOException;

  byte[] readAll(String path) throws IOException;

  /** Null if there is no such file. */
  default byte[] readIfThere(String path) throws IOException {
    try {
      return readAll(path);
    } catch (FileNotFoundException | NoSuchFileException e) {
      return null;
    }
  }

  /** Begins a file that is there when it is closed. {@code fresh}: its closing fails if the name is taken. */
  Whole whole(String path, boolean fresh) throws IOException;

  /**
   * Writes a new file, whole and durable. False if there is one already: of several who try at the same time, one
   * succeeds. Who writes may be taken for another by what it writes, so that has a name of its own in it.
   */
  default boolean createNew(String path, byte[] bytes) throws IOException {
    try {
      write(whole(path, true), bytes);
      return true;
    } catch (FileAlreadyExistsException e) {
      return false;
    }
  }

  /** Writes a file, whole and durable, in place of the one that is there. */
  default void writeAtomically(String path, byte[] bytes) throws IOException {
    write(whole(path, false), bytes);
  }

  private static void write(Whole file, byte[] bytes) throws IOException {
    try {
      file.write(bytes);
    } catch (IOException | RuntimeException e) {
      file.cancel();
      throw e;
    }
    file.close();
  }

  static String folderOf(String path) {
    return path.substring(0, path.lastIndexOf('/'));
  }

  /** A hidden name of its own beside a file: what is written there is not to be seen yet. */
  static String partOf(String path) {
    String name = path.substring(path.lastIndexOf('/') + 1);
    return folderOf(path) + "/." + name + "." + UUID.randomUUID() + PART;
  }

  /** Whether a crash may have left a file of this name half written. */
  static boolean isPart(String name) {
    return name.startsWith(".") && name.endsWith(PART);
  }

  boolean isLocal();

  /** The path as this disk's methods take it. */
  static String plain(String path) {
    String plain = path.startsWith("file:") ? new Path(path).toUri().getPath() : path;
    return plain.length() > 1 && plain.endsWith("/") ? plain.substring(0, plain.length() - 1) : plain;
  }

  static Disk of(String path) {
    String scheme = new Path(path).toUri().getScheme();
    if (scheme == null || "file".equals(scheme)) {
      return new LocalDisk();
    }
    try {
      FileSystem files = new Path(path).getFileSystem(HadoopSettings.conf());
      return "s3a".equals(scheme) ? new ObjectDisk(files) : new HdfsDisk((DistributedFileSystem) files);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
