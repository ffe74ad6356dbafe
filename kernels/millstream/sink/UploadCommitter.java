package millstream.sink;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import millstream.faults.Faults;
import millstream.journal.Disk;
import millstream.journal.Uploads;
import millstream.journal.Uploads.Upload;
import org.apache.hadoop.fs.Path;

/**
 * Where no folder can be renamed: prepares by uploading files that nobody sees, and a list of them; publishes by
 * completing each, and then says by the epoch's manifest that it is whole.
 */
final class UploadCommitter implements Committer {
  private static final ObjectMapper JSON = new ObjectMapper();

  private final SinkSpec spec;
  private final FileFolder folder;
  private final Disk disk;
  private final Uploads uploads;
  private boolean cleaned;

  UploadCommitter(SinkSpec spec, FileFolder folder) throws IOException {
    this.spec = spec;
    this.folder = folder;
    this.disk = Disk.of(folder.root().toString());
    this.uploads = new Uploads(folder.root().toString());
  }

  @Override
  public void prepared(long epoch, List<TaskWriter.Prepared> tasks) throws IOException {
    Faults.at("sink.prepare.before", epoch, spec.name());
    ObjectNode list = JSON.createObjectNode().put("format", 1).put("epoch", epoch);
    ArrayNode files = list.putArray("files");
    for (TaskWriter.Prepared task : tasks) {
      for (Upload upload : ((FileSink.Uploaded) task).uploads()) {
        files
            .addObject()
            .put("path", upload.path())
            .put("upload", upload.id())
            .put("size", upload.size())
            .putPOJO("parts", upload.parts());
      }
    }
    disk.writeAtomically(list(epoch), JSON.writeValueAsBytes(list));
    Faults.at("sink.prepare.after", epoch, spec.name());
  }

  private String list(long epoch) {
    return folder.ready(epoch) + ".json";
  }

  private TreeMap<Long, Path> lists() throws IOException {
    return folder.ready();
  }

  private List<Upload> listed(Path list) throws IOException {
    List<Upload> found = new ArrayList<>();
    for (JsonNode file : JSON.readTree(disk.readAll(list.toString())).get("files")) {
      ArrayList<String> parts = new ArrayList<>();
      file.get("parts").forEach(part -> parts.add(part.asText()));
      found.add(new Upload(
          file.get("path").asText(),
          file.get("upload").asText(),
          parts,
          file.get("size").asLong()));
    }
    return found;
  }

  @Override
  public void publish(long upTo) throws IOException {
    for (Map.Entry<Long, Path> list : lists().headMap(upTo, true).entrySet()) {
      long epoch = list.getKey();
      Faults.at("sink.publish.before", epoch, spec.name());
      publish(epoch, listed(list.getValue()));
      disk.delete(list.getValue().toString());
      Faults.at("sink.publish.after", epoch, spec.name());
    }
  }

  private void publish(long epoch, List<Upload> files) throws IOException {
    String published = folder.published(epoch) + "/";
    ObjectNode manifest = JSON.createObjectNode().put("format", 1).put("epoch", epoch);
    ArrayNode names = manifest.putArray("files");
    for (Upload file : files) {
      try {
        uploads.complete(file);
      } catch (FileNotFoundException e) {
        throw SinkException.preparedFileMissing(spec.name(), epoch, file.path());
      }
      if (names.isEmpty()) {
        Faults.at("sink.publish.between", epoch, spec.name());
      }
      names.add(file.path().substring(published.length()));
    }
    byte[] text = manifest.toString().getBytes(StandardCharsets.UTF_8);
    disk.writeAtomically(published + FileFolder.MANIFEST, text);
    if (!cleaned) {
      // A run before this one may have begun the epoch, too.
      uploads.abortAll(published);
      cleaned = true;
    }
  }

  /** There are no locks: uploads of others are left alone until an epoch is published, and theirs cannot be. */
  @Override
  public void recover(long lastCommitted) throws IOException {
    publish(lastCommitted);
    for (Path list : lists().values()) {
      disk.delete(list.toString());
    }
  }

  @Override
  public void discard(long epoch) throws IOException {
    disk.delete(list(epoch));
  }

  @Override
  public void close() throws IOException {
    uploads.close();
  }
}
