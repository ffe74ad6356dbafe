package millstream.save;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.io.InputStream;
import java.nio.channels.FileChannel;
import java.nio.file.Paths;
import java.nio.file.StandardOpenOption;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import millstream.journal.Disk;
import millstream.journal.HadoopSettings;
import org.apache.hadoop.fs.Path;

/** A file of a savepoint when it is whole: durable, and with a checksum. */
public final class SavedFile {
  private SavedFile() {}

  static ObjectNode described(SavedList.Part part) throws IOException {
    sync(part.path());
    ObjectNode out = new ObjectMapper().createObjectNode();
    return out.put("name", new Path(part.path()).getName())
        .put("range", part.range())
        .put("rows", part.rows())
        .put("sha256", sha256(part.path()));
  }

  /** Of a file, however long it is, on any storage. */
  public static String sha256(String path) throws IOException {
    Path file = new Path(path);
    try (InputStream in = file.getFileSystem(HadoopSettings.conf()).open(file)) {
      MessageDigest digest = MessageDigest.getInstance("SHA-256");
      byte[] buffer = new byte[1 << 16];
      for (int count = in.read(buffer); count >= 0; count = in.read(buffer)) {
        digest.update(buffer, 0, count);
      }
      return HexFormat.of().formatHex(digest.digest());
    } catch (NoSuchAlgorithmException error) {
      throw new IllegalStateException(error);
    }
  }

  /** On a local disk a file is durable after a sync; on HDFS and S3, when it is closed. */
  private static void sync(String path) throws IOException {
    Disk disk = Disk.of(path);
    if (disk.isLocal()) {
      String plain = Disk.plain(path);
      try (FileChannel file = FileChannel.open(Paths.get(plain), StandardOpenOption.WRITE)) {
        file.force(true);
      }
      disk.syncFolder(Disk.folderOf(plain));
    }
  }
}
