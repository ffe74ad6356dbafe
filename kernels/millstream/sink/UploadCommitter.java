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
import millstream.faults.Faults;
import millstream.journal.Disk;
import millstream.journal.Uploads;
import millstream.journal.Uploads.Upload;

/**
 * Where no folder can be renamed: prepares by uploading hidden files; publishes by completing each, and then says by
 * the epoch's manifest that it is whole.
 */
final class UploadCommitter implements Committer {
  private static final ObjectMapper JSON = new ObjectMapper();

  private final SinkSpec spec;
  private final FileFolder folder;
  private final Disk disk;
  private final Uploads uploads;

  UploadCommitter(SinkSpec spec, FileFolder folder) throws IOException {
    this.spec = spec;
    this.folder = folder;
    this.disk = Disk.of(folder.root().toString());
    this.uploads = new Uploads(folder.root().toString());
  }

  @Override
  public JsonNode prepared(long epoch, List<TaskWriter.Prepared> tasks) {
    ObjectNode prepared = JSON.createObjectNode();
    ArrayNode files = prepared.putArray("uploads");
    for (TaskWriter.Prepared task : tasks) {
      for (Upload upload : ((FileSink.Uploaded) task).uploads()) {
        ArrayNode parts = files
            .addObject()
            .put("path", upload.path())
            .put("upload", upload.id())
            .put("size", upload.size())
            .putArray("parts");
        upload.parts().forEach(parts::add);
      }
    }
    return prepared;
  }

  private static List<Upload> listed(JsonNode prepared) {
    List<Upload> found = new ArrayList<>();
    for (JsonNode file : prepared.get("uploads")) {
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
  public void publish(long epoch, JsonNode prepared, Fence fence) throws IOException {
    Faults.at("sink.publish.before", epoch, spec.name());
    publish(epoch, listed(prepared));
    Faults.at("sink.publish.after", epoch, spec.name());
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
  }

  @Override
  public void recover(long lastCommitted, long tenure, Fence fence) throws IOException {
    // Uploads are thrown away by folder, whichever task began them.
    fence.check();
    uploads.abortAll(folder.published(lastCommitted + 1).toString());
  }

  /** The next start throws away what was uploaded: by then no other run can have uploads under the same names. */
  @Override
  public void discard(long from, long tenure) {}

  @Override
  public void close() throws IOException {
    uploads.close();
  }
}
