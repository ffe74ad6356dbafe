package millstream.sink;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import millstream.faults.Faults;
import millstream.journal.Locks;
import org.apache.hadoop.fs.Path;

/** Prepares by listing the tasks' files, publishes by bringing them together in one folder and renaming that. */
final class FileCommitter implements Committer {
  private final SinkSpec spec;
  private final FileFolder folder;

  FileCommitter(SinkSpec spec, FileFolder folder) {
    this.spec = spec;
    this.folder = folder;
  }

  @Override
  public void claim(Locks locks) throws IOException {
    if (!folder.claim(locks)) {
      throw SinkException.claimed(spec.name(), folder.root().toString());
    }
  }

  @Override
  public JsonNode prepared(long epoch, List<TaskWriter.Prepared> tasks) {
    ObjectNode prepared = JsonNodeFactory.instance.objectNode();
    ArrayNode listed = prepared.putArray("tasks");
    for (TaskWriter.Prepared one : tasks) {
      FileSink.Files task = (FileSink.Files) one;
      ArrayNode files = listed.addObject().put("folder", task.folder()).putArray("files");
      task.files().forEach(files::add);
    }
    return prepared;
  }

  @Override
  public void publish(long epoch, JsonNode prepared, Fence fence) throws IOException {
    Faults.at("sink.publish.before", epoch, spec.name());
    if (!folder.exists(new Path(folder.published(epoch), FileFolder.MANIFEST))) {
      gather(epoch, prepared);
      Faults.at("sink.publish.between", epoch, spec.name());
      folder.move(folder.ready(epoch), folder.published(epoch));
      folder.sync(folder.root());
    }
    for (JsonNode task : prepared.get("tasks")) {
      folder.delete(folder.absolute(task.get("folder").asText()));
    }
    Faults.at("sink.publish.after", epoch, spec.name());
  }

  /** Brings all files of an epoch together in one folder, with their manifest; continues where it ended before. */
  private void gather(long epoch, JsonNode prepared) throws IOException {
    Path ready = folder.ready(epoch);
    Set<Path> touched = new TreeSet<>(Set.of(ready));
    ObjectNode manifest = new ObjectMapper().createObjectNode().put("format", 1).put("epoch", epoch);
    ArrayNode listed = manifest.putArray("files");
    for (JsonNode task : prepared.get("tasks")) {
      Path from = folder.absolute(task.get("folder").asText());
      for (JsonNode file : task.get("files")) {
        Path to = new Path(ready, file.asText());
        if (!folder.exists(to)) {
          move(new Path(from, file.asText()), to, epoch);
        }
        touched.add(to.getParent());
        listed.add(file.asText());
      }
    }
    folder.write(new Path(ready, FileFolder.MANIFEST), manifest.toString().getBytes(StandardCharsets.UTF_8));
    touched.add(ready.getParent());
    for (Path path : touched) {
      folder.sync(path);
    }
  }

  private void move(Path from, Path to, long epoch) throws IOException {
    if (!folder.exists(from)) {
      throw SinkException.preparedFileMissing(spec.name(), epoch, from.toString());
    }
    folder.move(from, to);
  }

  @Override
  public void recover(long lastCommitted, long tenure, Fence fence) throws IOException {
    for (Path rest : folder.ready().headMap(lastCommitted, true).values()) {
      folder.delete(rest);
    }
    for (Path rest : folder.openBefore(tenure)) {
      folder.delete(rest);
    }
  }

  @Override
  public void discard(long from, long tenure) throws IOException {
    for (Path rest : folder.openFrom(from, tenure)) {
      folder.delete(rest);
    }
  }
}
