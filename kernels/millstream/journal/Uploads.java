package millstream.journal;

import java.io.ByteArrayInputStream;
import java.io.Closeable;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.InputStream;
import java.io.Serializable;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashMap;
import java.util.Map;
import org.apache.hadoop.fs.BBPartHandle;
import org.apache.hadoop.fs.BBUploadHandle;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.MultipartUploader;
import org.apache.hadoop.fs.PartHandle;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.UploadHandle;
import org.apache.hadoop.util.functional.FutureIO;

/**
 * Objects that are in the store, but not to be seen until they are completed: by any process that knows their uploads.
 */
public final class Uploads implements Closeable {
  /** The least that S3 takes is 5 MiB; of each object there may be 10,000. */
  private static final int PART = 16 << 20;

  /** What it takes to complete an object: the store's own words, as Base64. */
  public record Upload(String path, String id, ArrayList<String> parts, long size) implements Serializable {}

  private final FileSystem files;
  private final MultipartUploader uploader;

  /** @param folder all uploads are below it */
  public Uploads(String folder) throws IOException {
    files = new Path(folder).getFileSystem(HadoopSettings.conf());
    uploader = files.createMultipartUploader(new Path(folder)).build();
  }

  /** Brings a local file to the store. Nothing is left of it there if this fails. */
  public Upload put(java.nio.file.Path from, String path) throws IOException {
    Path to = new Path(path);
    UploadHandle upload = FutureIO.awaitFuture(uploader.startUpload(to));
    try (InputStream in = Files.newInputStream(from)) {
      ArrayList<String> parts = new ArrayList<>();
      for (long left = Files.size(from); left > 0 || parts.isEmpty(); left -= PART) {
        byte[] part = in.readNBytes(PART);
        // In memory: what was sent in vain can be sent again.
        PartHandle put = FutureIO.awaitFuture(
            uploader.putPart(upload, parts.size() + 1, left <= PART, to, new ByteArrayInputStream(part), part.length));
        parts.add(text(put.toByteArray()));
      }
      return new Upload(path, text(upload.toByteArray()), parts, Files.size(from));
    } catch (IOException | RuntimeException e) {
      abort(upload, to);
      throw e;
    }
  }

  /**
   * Lets an object be seen. To do it again changes nothing.
   *
   * @throws FileNotFoundException if there is neither the upload nor the object
   */
  public void complete(Upload upload) throws IOException {
    Map<Integer, PartHandle> parts = new HashMap<>();
    for (String part : upload.parts()) {
      parts.put(parts.size() + 1, BBPartHandle.from(bytes(part)));
    }
    try {
      FutureIO.awaitFuture(uploader.complete(handle(upload), new Path(upload.path()), parts));
    } catch (IOException e) {
      // The store forgets an upload that is completed, or was given up.
      if (!isThere(upload)) {
        throw (IOException) new FileNotFoundException(upload.path()).initCause(e);
      }
    }
  }

  private boolean isThere(Upload upload) throws IOException {
    try {
      return files.getFileStatus(new Path(upload.path())).getLen() == upload.size();
    } catch (FileNotFoundException e) {
      return false;
    }
  }

  /** Throws it away, if it is still there. */
  public void abort(Upload upload) throws IOException {
    abort(handle(upload), new Path(upload.path()));
  }

  private void abort(UploadHandle upload, Path path) throws IOException {
    try {
      FutureIO.awaitFuture(uploader.abort(upload, path));
    } catch (FileNotFoundException e) {
      // another process has done so
    }
  }

  /** Throws away all incomplete uploads below a folder. */
  public void abortAll(String folder) throws IOException {
    FutureIO.awaitFuture(uploader.abortUploadsUnderPath(new Path(folder)));
  }

  private static UploadHandle handle(Upload upload) {
    return BBUploadHandle.from(bytes(upload.id()));
  }

  private static String text(byte[] bytes) {
    return Base64.getEncoder().encodeToString(bytes);
  }

  private static ByteBuffer bytes(String text) {
    return ByteBuffer.wrap(Base64.getDecoder().decode(text));
  }

  @Override
  public void close() throws IOException {
    uploader.close();
  }
}
