package millstream.journal;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.nio.file.NoSuchFileException;
import java.util.Arrays;
import java.util.List;

/** Files of a storage for the driver's Python code, in one call each. */
public final class FilesForPython {
  private FilesForPython() {}

  /** Null if there is no such file. */
  public static byte[] read(String path) throws IOException {
    try {
      return Disk.of(path).readAll(path);
    } catch (FileNotFoundException | NoSuchFileException e) {
      return null;
    }
  }

  /** Up to {@code length} bytes from a position on; fewer only at the end of the file. */
  public static byte[] read(String path, long position, int length) throws IOException {
    byte[] bytes = new byte[length];
    int filled = 0;
    try (Disk.Input in = Disk.of(path).open(path)) {
      for (int count = 0; count >= 0 && filled < length; filled += Math.max(0, count)) {
        count = in.read(position + filled, bytes, filled, length - filled);
      }
    }
    return filled == length ? bytes : Arrays.copyOf(bytes, filled);
  }

  public static List<String> names(String folder) throws IOException {
    return Disk.of(folder).list(folder);
  }

  public static boolean create(String path, byte[] bytes) throws IOException {
    Disk disk = Disk.of(path);
    disk.makeFolder(Disk.folderOf(path));
    return disk.createNew(path, bytes);
  }

  public static void replace(String path, byte[] bytes) throws IOException {
    Disk disk = Disk.of(path);
    disk.makeFolder(Disk.folderOf(path));
    disk.writeAtomically(path, bytes);
  }

  public static void delete(String path) throws IOException {
    Disk.of(path).delete(path);
  }
}
