package millstream.sink;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Map;
import millstream.journal.Uploads;
import org.apache.hadoop.fs.Path;
import org.apache.spark.SparkEnv;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.catalog.ExternalCatalogUtils;
import org.apache.spark.util.Utils;

/**
 * Sinks that are folders of files, one folder in it per epoch. A record's key holds the values by which files are
 * partitioned, as a JSON list.
 */
final class FileSink implements SinkKind {
  /** How many files a task keeps open; when it needs more, it ends all of them and begins new ones. */
  private static final int OPEN = 64;

  @Override
  public TaskWriter writer(SinkSpec spec, TaskId task) throws IOException {
    return new Writer(spec, task);
  }

  @Override
  public Committer committer(SinkSpec spec) throws IOException {
    FileFolder folder = FileFolder.of(spec);
    return folder.renames() ? new FileCommitter(spec, folder) : new UploadCommitter(spec, folder);
  }

  /** The files that a task wrote, each by its path below the task's folder. */
  record Files(String folder, ArrayList<String> files) implements TaskWriter.Prepared {}

  /** The files that a task has uploaded, which are not visible yet. */
  record Uploaded(ArrayList<Uploads.Upload> uploads) implements TaskWriter.Prepared {}

  private static final class Writer implements TaskWriter {
    private final SinkSpec spec;
    private final FileFolder folder;
    private final String name;
    /** Where files are written first: beside the others, or on this machine, from where they are uploaded. */
    private final Path own;

    private final String[] partedBy;
    private final Map<ByteBuffer, String> places = new HashMap<>();
    private final Map<String, FileOutput> open = new HashMap<>();
    private final ArrayList<String> files = new ArrayList<>();
    private final long epoch;

    Writer(SinkSpec spec, TaskId task) throws IOException {
      this.spec = spec;
      this.folder = FileFolder.of(spec);
      this.epoch = task.epoch();
      this.name = task.task() + "-" + task.tenure() + "-" + task.attempt();
      this.own = folder.renames()
          ? folder.task(task)
          : new Path(Utils.createTempDir(Utils.getLocalDir(SparkEnv.get().conf()), "millstream")
              .toURI());
      this.partedBy = new ObjectMapper().readValue(spec.setting("partition_by"), String[].class);
    }

    @Override
    public void write(byte[] key, byte[] value, InternalRow row) throws IOException {
      output(place(key)).write(value, row);
    }

    private String place(byte[] key) throws IOException {
      if (partedBy.length == 0) {
        return "";
      }
      ByteBuffer bytes = ByteBuffer.wrap(key);
      String place = places.get(bytes);
      if (place == null) {
        place = path(key);
        places.put(bytes, place);
      }
      return place;
    }

    /** As Hive and all who follow it name folders: {@code day=2026-01-01/hour=5/}. */
    private String path(byte[] key) throws IOException {
      StringBuilder path = new StringBuilder();
      JsonNode values = new ObjectMapper().readTree(new String(key, StandardCharsets.UTF_8));
      for (int i = 0; i < partedBy.length; i++) {
        JsonNode value = values.get(i);
        String text = value == null || value.isNull() || value.asText().isEmpty()
            ? ExternalCatalogUtils.DEFAULT_PARTITION_NAME()
            : ExternalCatalogUtils.escapePathName(value.asText());
        path.append(ExternalCatalogUtils.escapePathName(partedBy[i]))
            .append('=')
            .append(text)
            .append('/');
      }
      return path.toString();
    }

    private FileOutput output(String place) throws IOException {
      FileOutput output = open.get(place);
      if (output == null) {
        if (open.size() == OPEN) {
          end();
        }
        String file = place + "part-" + name + "-" + files.size() + "." + FileOutput.suffix(spec);
        output = FileOutput.create(spec, new Path(own, file));
        files.add(file);
        open.put(place, output);
      }
      return output;
    }

    private void end() throws IOException {
      for (FileOutput output : open.values()) {
        output.close();
      }
      open.clear();
    }

    @Override
    public void write(byte[] key, byte[] value) {
      throw new UnsupportedOperationException("files are written with their row");
    }

    @Override
    public Prepared prepare() throws IOException {
      end();
      if (!folder.renames()) {
        return uploaded();
      }
      for (String file : files) {
        folder.sync(new Path(own, file));
      }
      return new Files(folder.relative(own), files);
    }

    private Uploaded uploaded() throws IOException {
      ArrayList<Uploads.Upload> made = new ArrayList<>();
      try (Uploads uploads = new Uploads(folder.root().toString())) {
        for (String file : files) {
          Path to = new Path(folder.published(epoch), file);
          made.add(uploads.put(java.nio.file.Path.of(new Path(own, file).toUri().getPath()), to.toString()));
        }
      }
      delete();
      return new Uploaded(made);
    }

    /** A task's uploads that no list names are thrown away with the epoch. */
    @Override
    public void abort() throws IOException {
      end();
      delete();
    }

    private void delete() throws IOException {
      FileFolder.files(own).delete(own, true);
    }
  }
}
