package millstream.journal;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.util.Arrays;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FSDataOutputStreamBuilder;
import org.apache.hadoop.fs.FileAlreadyExistsException;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;

/**
 * An object store. An object is there, whole and durable, when its stream is closed; a new one is put on condition that
 * there is none ({@code If-None-Match}). There are no folders, nothing grows, and nothing is renamed: it is copied.
 */
final class ObjectDisk extends HadoopDisk {
  private static final int TRIES = 10;
  private static final int CHUNK = 1 << 20;

  private final FileSystem files;

  ObjectDisk(FileSystem files) {
    super(files);
    this.files = files;
  }

  @Override
  public void makeFolder(String folder) {}

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

  @Override
  public boolean createNew(String path, byte[] bytes) throws IOException {
    for (int attempt = 1; ; attempt++) {
      try {
        write(put(path, true), new ByteArrayInputStream(bytes));
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
  private static void write(FSDataOutputStream out, InputStream from) throws IOException {
    try {
      from.transferTo(out);
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
  public void writeAtomically(String path, byte[] bytes) throws IOException {
    write(put(path, false), new ByteArrayInputStream(bytes));
  }

  /** Through this machine: the store's own copy takes the place of whatever is there. */
  @Override
  public void rename(String from, String to) throws IOException {
    try (FSDataInputStream in = files.open(new Path(from))) {
      write(put(to, true), in);
    } catch (IOException e) {
      if (!isTaken(e) || !same(from, to)) {
        throw e;
      }
    }
    delete(from);
  }

  private boolean same(String one, String other) throws IOException {
    try (FSDataInputStream left = files.open(new Path(one));
        FSDataInputStream right = files.open(new Path(other))) {
      byte[] chunk = left.readNBytes(CHUNK);
      while (chunk.length > 0 && Arrays.equals(chunk, right.readNBytes(chunk.length))) {
        chunk = left.readNBytes(CHUNK);
      }
      return chunk.length == 0 && right.read() < 0;
    }
  }

  @Override
  public void replace(String from, String to) {
    throw new UnsupportedOperationException("an object store replaces an object by writing it");
  }

  @Override
  public void truncate(String path, long length) {
    throw new UnsupportedOperationException("an object cannot be cut: " + path);
  }

  /** Nobody sees anything before it is closed. */
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
