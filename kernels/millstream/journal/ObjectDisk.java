package millstream.journal;

import java.io.ByteArrayOutputStream;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.fs.BulkDelete;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FSDataOutputStreamBuilder;
import org.apache.hadoop.fs.FileAlreadyExistsException;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.FutureDataInputStreamBuilder;
import org.apache.hadoop.fs.Options;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.util.functional.FutureIO;

/**
 * An object store. An object is there, whole and durable, when its stream is closed; a new one is put on condition that
 * there is none ({@code If-None-Match}). There are no folders, nothing grows, and nothing is renamed.
 */
final class ObjectDisk extends HadoopDisk {
  private static final int TRIES = 10;
  /** A request costs money. */
  private static final Duration LIST_EVERY = Duration.ofMillis(500);

  private final FileSystem files;

  ObjectDisk(FileSystem files) {
    super(files);
    this.files = files;
  }

  @Override
  public Duration listEvery() {
    return LIST_EVERY;
  }

  @Override
  public boolean renames() {
    return false;
  }

  @Override
  public void makeFolder(String folder) {}

  /** Without asking for the length: it is known. */
  @Override
  public Input open(String path, long size) throws IOException {
    FutureDataInputStreamBuilder opened = files
        .openFile(new Path(path))
        .opt(Options.OpenFileOptions.FS_OPTION_OPENFILE_LENGTH, Long.toString(size))
        .opt(
            Options.OpenFileOptions.FS_OPTION_OPENFILE_READ_POLICY,
            Options.OpenFileOptions.FS_OPTION_OPENFILE_READ_POLICY_WHOLE_FILE);
    return new StoredObject(path, new HadoopInput(FutureIO.awaitFuture(opened.build()), size));
  }

  /**
   * That it is gone is noticed when it is read, not when it is opened. What the client says then is that its stream is
   * closed, so the store is asked.
   */
  private final class StoredObject implements Input {
    private final String path;
    private final Input in;

    StoredObject(String path, Input in) {
      this.path = path;
      this.in = in;
    }

    @Override
    public int read(long position, byte[] into, int offset, int length) throws IOException {
      try {
        return in.read(position, into, offset, length);
      } catch (IOException e) {
        if (e instanceof FileNotFoundException || exists(path)) {
          throw e;
        }
        throw (IOException) new FileNotFoundException(path).initCause(e);
      }
    }

    @Override
    public long size() throws IOException {
      return in.size();
    }

    @Override
    public void close() throws IOException {
      in.close();
    }
  }

  @Override
  public Output create(String path) throws IOException {
    return new ObjectOutput(path, put(path, true));
  }

  private FSDataOutputStream put(String path, boolean fresh) throws IOException {
    FSDataOutputStreamBuilder<?, ?> made =
        files.createFile(new Path(path)).overwrite(!fresh).recursive();
    made.opt("fs.s3a.create.performance", true);
    if (fresh) {
      made.must("fs.option.create.conditional.overwrite", true);
    }
    return made.build();
  }

  /** By one request. {@link FileSystem#delete} would first look whether it is a folder. */
  @Override
  public void delete(String path) throws IOException {
    Path object = new Path(path);
    try (BulkDelete deletion = files.createBulkDelete(object.getParent())) {
      for (Map.Entry<Path, String> failed : deletion.bulkDelete(List.of(object))) {
        throw new IOException("cannot delete " + path + ": " + failed.getValue());
      }
    }
  }

  @Override
  public Whole whole(String path, boolean fresh) throws IOException {
    return fresh ? new NewObject(path) : new Overwriting(put(path, false));
  }

  @Override
  public boolean createNew(String path, byte[] bytes) throws IOException {
    for (int attempt = 1; ; attempt++) {
      try {
        write(put(path, true), bytes);
        return true;
      } catch (IOException e) {
        if (says(e, "409", "ConditionalRequestConflict") && attempt < TRIES) {
          continue; // two came at the same moment, and neither may have succeeded
        }
        if (!isTaken(e)) {
          throw e;
        }
        // The client asks again if an answer is lost, and is then refused because of what it wrote itself.
        return Arrays.equals(readAll(path), bytes);
      }
    }
  }

  /** Whole, or not at all: to close a stream is to put what came so far. */
  private static void write(FSDataOutputStream out, byte[] bytes) throws IOException {
    try {
      out.write(bytes);
    } catch (IOException | RuntimeException e) {
      out.abort();
      throw e;
    }
    out.close();
  }

  private static boolean isTaken(IOException error) {
    return error instanceof FileAlreadyExistsException || says(error, "412", "PreconditionFailed");
  }

  /** Whether an answer of the store has this status or code. Its classes are not there when this is compiled. */
  private static boolean says(Throwable error, String status, String code) {
    for (Throwable cause = error; cause != null; cause = cause.getCause()) {
      String text = String.valueOf(cause.getMessage());
      if (text.contains("Status Code: " + status) || text.contains(code)) {
        return true;
      }
    }
    return false;
  }

  @Override
  public void rename(String from, String to) {
    throw new UnsupportedOperationException("an object store cannot rename " + from);
  }

  @Override
  public void replace(String from, String to) {
    throw new UnsupportedOperationException("an object store replaces an object by writing it");
  }

  /** Gathered, and put when it is closed: it is small, and what is there may have to be compared with it. */
  private final class NewObject extends Whole {
    private final String path;
    private final ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    private boolean over;

    NewObject(String path) {
      this.path = path;
    }

    @Override
    public void write(int one) {
      bytes.write(one);
    }

    @Override
    public void write(byte[] from, int offset, int length) {
      bytes.write(from, offset, length);
    }

    @Override
    public void close() throws IOException {
      if (!over) {
        over = true;
        if (!createNew(path, bytes.toByteArray())) {
          throw new FileAlreadyExistsException(path + " exists already");
        }
      }
    }

    @Override
    public void cancel() {
      over = true;
    }
  }

  private static final class Overwriting extends Whole {
    private final FSDataOutputStream out;
    private boolean over;

    Overwriting(FSDataOutputStream out) {
      this.out = out;
    }

    @Override
    public void write(int one) throws IOException {
      out.write(one);
    }

    @Override
    public void write(byte[] bytes, int offset, int length) throws IOException {
      out.write(bytes, offset, length);
    }

    @Override
    public void close() throws IOException {
      if (!over) {
        over = true;
        out.close();
      }
    }

    @Override
    public void cancel() {
      if (!over) {
        over = true;
        out.abort();
      }
    }
  }

  /** Nothing is visible before it is closed. */
  private static final class ObjectOutput implements Output {
    private final String path;
    private final FSDataOutputStream out;

    ObjectOutput(String path, FSDataOutputStream out) {
      this.path = path;
      this.out = out;
    }

    @Override
    public void write(byte[] bytes, int offset, int length) throws IOException {
      out.write(bytes, offset, length);
    }

    @Override
    public void flush() {}

    @Override
    public void sync() {}

    @Override
    public void abort() {
      out.abort();
    }

    @Override
    public void close() throws IOException {
      try {
        out.close();
      } catch (IOException e) {
        if (isTaken(e)) {
          throw new FileAlreadyExistsException(path + " exists already");
        }
        throw e;
      }
    }
  }
}
