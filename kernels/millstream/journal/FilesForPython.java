package millstream.journal;

import java.io.IOException;

/** Files of a storage for the driver's Python code, in one call each. */
public final class FilesForPython {
  private FilesForPython() {}

  /** Null if there is no such file. */
  public static byte[] read(String path) throws IOException {
    return Disk.of(path).readIfThere(path);
  }

  /** {@code size}: how long it is, and stays; -1 if that is not known. */
  public static InputForPython open(String path, long size) throws IOException {
    return new InputForPython(Disk.of(path), path, size);
  }

  /** A line for each: its size and its name. As one text: each item of a list would be a call of its own. */
  public static String entries(String folder) throws IOException {
    StringBuilder lines = new StringBuilder();
    for (Disk.Entry entry : Disk.of(folder).entries(folder)) {
      lines.append(entry.size()).append(' ').append(entry.name()).append('\n');
    }
    return lines.toString();
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

  public static void deleteAll(String folder) throws IOException {
    Disk.of(folder).deleteAll(folder);
  }
}
