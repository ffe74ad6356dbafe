package millstream.journal;

import java.io.Closeable;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.List;
import java.util.UUID;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.hdfs.DistributedFileSystem;

/** Where a journal lies. A local disk is used without Hadoop in between: tailing needs its speed. */
public interface Disk {
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

    /** Returns when the bytes survive a power cut. */
    void sync() throws IOException;
  }

  /** Names in a folder, in no order; none if there is no such folder. */
  List<String> list(String folder) throws IOException;

  /** A number that changes when a name in the folder does, or -1 if that cannot be told cheaply. */
  long stamp(String folder) throws IOException;

  boolean exists(String path) throws IOException;

  void makeFolder(String folder) throws IOException;

  Input open(String path) throws IOException;

  Output create(String path) throws IOException;

  /** Atomic; fails if the target is there already. */
  void rename(String from, String to) throws IOException;

  /** As {@link #rename}, but takes the place of what is there: at every moment there is the old one or the new one. */
  void replace(String from, String to) throws IOException;

  void delete(String path) throws IOException;

  void truncate(String path, long length) throws IOException;

  /** Makes renames and new names in the folder survive a power cut. */
  void syncFolder(String folder) throws IOException;

  byte[] readAll(String path) throws IOException;

  /**
   * Writes a new file, whole and durable. False if there is one already: of several who try at the same time, one
   * succeeds. Who writes may be taken for another by what it writes, so that has a name of its own in it.
   */
  boolean createNew(String path, byte[] bytes) throws IOException;

  /** Writes a file, whole and durable, in place of the one that is there. */
  default void writeAtomically(String path, byte[] bytes) throws IOException {
    String part = partOf(path);
    try (Output out = create(part)) {
      out.write(bytes, 0, bytes.length);
      out.sync();
    }
    replace(part, path);
    syncFolder(folderOf(path));
  }

  static String folderOf(String path) {
    return path.substring(0, path.lastIndexOf('/'));
  }

  /** A hidden name of its own beside a file: what is written there is not to be seen yet. */
  static String partOf(String path) {
    String name = path.substring(path.lastIndexOf('/') + 1);
    return folderOf(path) + "/." + name + "." + UUID.randomUUID() + ".part";
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
