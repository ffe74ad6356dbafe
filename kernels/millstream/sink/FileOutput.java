package millstream.sink;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedOutputStream;
import java.io.Closeable;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import millstream.parquet.ParquetFile;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.StructType;

/** One file that rows are written to: lines of text, or Parquet. */
interface FileOutput extends Closeable {
  void write(byte[] line, InternalRow row) throws IOException;

  static String suffix(SinkSpec spec) {
    return spec.setting("format");
  }

  static FileOutput create(SinkSpec spec, Path path) throws IOException {
    if (spec.setting("format").equals("parquet")) {
      return new Parquet(path, (StructType) StructType.fromJson(spec.setting("schema")));
    }
    return new Lines(path, spec.settings().containsKey("header") ? header(spec) : "");
  }

  /** The names of the columns as the first line of a CSV file. */
  private static String header(SinkSpec spec) throws IOException {
    String[] names = new ObjectMapper().readValue(spec.setting("columns"), String[].class);
    for (int i = 0; i < names.length; i++) {
      names[i] = names[i].matches("[\\w ]*") ? names[i] : '"' + names[i].replace("\"", "\\\"") + '"';
    }
    return String.join(",", names);
  }

  final class Lines implements FileOutput {
    private final OutputStream out;

    Lines(Path path, String header) throws IOException {
      FileSystem files = FileFolder.files(path);
      out = new BufferedOutputStream(files.create(path, false), 1 << 16);
      if (!header.isEmpty()) {
        write(header.getBytes(StandardCharsets.UTF_8), null);
      }
    }

    @Override
    public void write(byte[] line, InternalRow row) throws IOException {
      out.write(line);
      out.write('\n');
    }

    @Override
    public void close() throws IOException {
      out.close();
    }
  }

  final class Parquet implements FileOutput {
    private final ParquetFile out;

    Parquet(Path path, StructType schema) throws IOException {
      out = new ParquetFile(path, schema, "SNAPPY");
    }

    @Override
    public void write(byte[] line, InternalRow row) throws IOException {
      out.write(row);
    }

    @Override
    public void close() throws IOException {
      out.close();
    }
  }
}
