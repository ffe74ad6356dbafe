package millstream.sink;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import millstream.faults.Faults;
import millstream.journal.Locks;
import org.apache.hadoop.fs.Path;

/** Prepares by bringing an epoch's files together in one folder, publishes by renaming that folder. */
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
  public void prepared(long epoch, List<TaskWriter.Prepared> tasks) throws IOException {
    Faults.at("sink.prepare.before", epoch, spec.name());
    Path ready = folder.ready(epoch);
    folder.delete(ready);
    Set<Path> touched = new TreeSet<>();
    ObjectNode manifest = new ObjectMapper().createObjectNode().put("format", 1).put("epoch", epoch);
    ArrayNode listed = manifest.putArray("files");
    for (TaskWriter.Prepared prepared : tasks) {
      FileSink.Files task = (FileSink.Files) prepared;
      for (String file : task.files()) {
        Path to = new Path(ready, file);
        folder.move(new Path(folder.task(epoch, task.task()), file), to);
        touched.add(to.getParent());
        listed.add(file);
      }
    }
    folder.write(new Path(ready, FileFolder.MANIFEST), manifest.toString().getBytes(StandardCharsets.UTF_8));
    touched.add(ready);
    touched.add(ready.getParent());
    for (Path path : touched) {
      folder.sync(path);
    }
    Faults.at("sink.prepare.after", epoch, spec.name());
  }

  @Override
  public void publish(long upTo) throws IOException {
    for (Map.Entry<Long, Path> ready : folder.ready().headMap(upTo, true).entrySet()) {
      long epoch = ready.getKey();
      Faults.at("sink.publish.before", epoch, spec.name());
      if (!folder.exists(new Path(ready.getValue(), FileFolder.MANIFEST))) {
        throw SinkException.preparedFileMissing(spec.name(), epoch, ready.getValue() + "/" + FileFolder.MANIFEST);
      }
      folder.move(ready.getValue(), folder.published(epoch));
      folder.sync(folder.root());
      Faults.at("sink.publish.between", epoch, spec.name());
      folder.delete(folder.open(epoch));
      Faults.at("sink.publish.after", epoch, spec.name());
    }
  }

  @Override
  public void recover(long lastCommitted) throws IOException {
    publish(lastCommitted);
    for (Path rest : folder.ready().values()) {
      folder.delete(rest);
    }
    folder.delete(folder.open());
  }

  @Override
  public void discard(long epoch) throws IOException {
    folder.delete(folder.ready(epoch));
    folder.delete(folder.open(epoch));
  }
}
