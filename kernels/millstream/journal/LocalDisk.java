package millstream.journal;

import java.io.File;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.channels.ClosedByInterruptException;
import java.nio.channels.FileChannel;
import java.nio.file.AtomicMoveNotSupportedException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.NotDirectoryException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.apache.hadoop.fs.FileAlreadyExistsException;

/** A local disk. RandomAccessFile and not FileChannel: an interrupted task must not close a shared channel. */
final class LocalDisk implements Disk {
  private static final Duration LIST_EVERY = Duration.ofMillis(5);

  @Override
  public List<String> list(String folder) throws IOException {
    List<String> names = new ArrayList<>();
    try (DirectoryStream<Path> entries = Files.newDirectoryStream(Path.of(folder))) {
      entries.forEach(entry -> names.add(entry.getFileName().toString()));
    } catch (NoSuchFileException | NotDirectoryException e) {
      return names;
    }
    return names;
  }

  @Override
  public List<Entry> entries(String folder) throws IOException {
    return list(folder).stream().map(name -> entry(new File(folder, name))).toList();
  }

  private static Entry entry(File file) {
    return new Entry(file.getName(), file.length(), file.lastModified(), file.isDirectory());
  }

  @Override
  public Duration listEvery() {
    return LIST_EVERY;
  }

  @Override
  public boolean renames() {
    return true;
  }

  @Override
  public long stamp(String folder) throws IOException {
    try {
      return Files.getLastModifiedTime(Path.of(folder)).to(TimeUnit.MILLISECONDS);
    } catch (NoSuchFileException e) {
      return 0;
    }
  }

  @Override
  public boolean exists(String path) {
    return Files.exists(Path.of(path));
  }

  @Override
  public void makeFolder(String folder) throws IOException {
    Files.createDirectories(Path.of(folder));
  }

  @Override
  public Input open(String path) throws IOException {
    return new LocalInput(new RandomAccessFile(path, "r"));
  }

  @Override
  public Output create(String path) throws IOException {
    if (!new File(path).createNewFile()) {
      throw new FileAlreadyExistsException(path + " exists already");
    }
    return new LocalOutput(new RandomAccessFile(path, "rw"));
  }

  @Override
  public void rename(String from, String to) throws IOException {
    // A link fails if the name is taken; a rename would take the place of what is there.
    try {
      Files.createLink(Path.of(to), Path.of(from));
    } catch (java.nio.file.FileAlreadyExistsException e) {
      throw new FileAlreadyExistsException(to + " exists already");
    }
    Files.delete(Path.of(from));
  }

  @Override
  public void replace(String from, String to) throws IOException {
    try {
      Files.move(Path.of(from), Path.of(to), StandardCopyOption.ATOMIC_MOVE);
    } catch (AtomicMoveNotSupportedException e) {
      throw new IOException("cannot rename " + from + " atomically", e);
    }
  }

  @Override
  public void delete(String path) throws IOException {
    Files.deleteIfExists(Path.of(path));
  }

  @Override
  public void deleteAll(String path) throws IOException {
    if (!Files.exists(Path.of(path))) {
      return;
    }
    try (Stream<Path> all = Files.walk(Path.of(path))) {
      for (Path name : (Iterable<Path>) all.sorted(Comparator.reverseOrder())::iterator) {
        Files.deleteIfExists(name);
      }
    }
  }

  @Override
  public void truncate(String path, long length) throws IOException {
    try (RandomAccessFile file = new RandomAccessFile(path, "rw")) {
      file.setLength(length);
      file.getFD().sync();
    }
  }

  /** A folder can only be synced by a channel, which fails if its thread is interrupted: that has to wait. */
  @Override
  public void syncFolder(String folder) throws IOException {
    boolean interrupted = Thread.interrupted();
    try {
      while (!sync(Path.of(folder))) {
        interrupted |= Thread.interrupted();
      }
    } finally {
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }

  private static boolean sync(Path folder) throws IOException {
    try (FileChannel channel = FileChannel.open(folder, StandardOpenOption.READ)) {
      channel.force(true);
      return true;
    } catch (ClosedByInterruptException e) {
      return false;
    }
  }

  @Override
  public byte[] readAll(String path) throws IOException {
    return Files.readAllBytes(Path.of(path));
  }

  @Override
  public Whole whole(String path, boolean fresh) throws IOException {
    String part = Disk.partOf(path);
    makeFolder(Disk.folderOf(path));
    return new PartFile(this, part, path, fresh, create(part));
  }

  @Override
  public boolean isLocal() {
    return true;
  }

  private static final class LocalInput implements Input {
    private final RandomAccessFile file;

    LocalInput(RandomAccessFile file) {
      this.file = file;
    }

    @Override
    public int read(long position, byte[] into, int offset, int length) throws IOException {
      file.seek(position);
      return file.read(into, offset, length);
    }

    @Override
    public long size() throws IOException {
      return file.length();
    }

    @Override
    public void close() throws IOException {
      file.close();
    }
  }

  private static final class LocalOutput implements Output {
    private final RandomAccessFile file;

    LocalOutput(RandomAccessFile file) {
      this.file = file;
    }

    @Override
    public void write(byte[] bytes, int offset, int length) throws IOException {
      file.write(bytes, offset, length);
    }

    @Override
    public void flush() {}

    @Override
    public void sync() throws IOException {
      file.getFD().sync();
    }

    @Override
    public void close() throws IOException {
      file.close();
    }
  }
}
