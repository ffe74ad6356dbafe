package millstream.parquet;

import java.io.Closeable;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Paths;
import millstream.journal.HadoopSettings;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.LocalFileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.parquet.hadoop.ParquetWriter;
import org.apache.parquet.hadoop.api.WriteSupport;
import org.apache.parquet.hadoop.metadata.CompressionCodecName;
import org.apache.parquet.hadoop.util.HadoopOutputFile;
import org.apache.parquet.io.LocalOutputFile;
import org.apache.parquet.io.OutputFile;
import org.apache.parquet.io.PositionOutputStream;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.execution.datasources.parquet.ParquetWriteSupport;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.StructType;

/** A Parquet file that rows are written to, outside of any Spark job, in types that other tools read. */
public final class ParquetFile implements Closeable {
  private final LetGo file;
  private final ParquetWriter<InternalRow> out;

  public ParquetFile(Path path, StructType schema, String compression) throws IOException {
    Configuration conf = settings(schema);
    file = new LetGo(output(path, conf));
    try {
      out = new Rows(file)
          .withConf(conf)
          .withCompressionCodec(CompressionCodecName.valueOf(compression))
          .build();
    } catch (IOException | RuntimeException error) {
      file.letGo(error);
      throw error;
    }
  }

  private static Configuration settings(StructType schema) {
    Configuration conf = new Configuration(HadoopSettings.conf());
    ParquetWriteSupport.setSchema(schema, conf);
    conf.set(SQLConf.PARQUET_WRITE_LEGACY_FORMAT().key(), "false");
    conf.set(SQLConf.PARQUET_OUTPUT_TIMESTAMP_TYPE().key(), "TIMESTAMP_MICROS");
    conf.set(SQLConf.PARQUET_FIELD_ID_WRITE_ENABLED().key(), "false");
    conf.set(SQLConf.PARQUET_ANNOTATE_VARIANT_LOGICAL_TYPE().key(), "false");
    conf.set(SQLConf.SESSION_LOCAL_TIMEZONE().key(), SQLConf.get().sessionLocalTimeZone());
    return conf;
  }

  /** Hadoop's own files of a local disk stay open if the disk is full when they are closed. */
  private static OutputFile output(Path path, Configuration conf) throws IOException {
    if (!(path.getFileSystem(conf) instanceof LocalFileSystem)) {
      return HadoopOutputFile.fromPath(path, conf);
    }
    java.nio.file.Path local = Paths.get(path.toUri().getPath());
    Files.createDirectories(local.getParent());
    return new LocalOutputFile(local);
  }

  public void write(InternalRow row) throws IOException {
    out.write(row);
  }

  /** Whatever goes wrong, the file is closed afterwards. */
  @Override
  public void close() throws IOException {
    try {
      out.close();
    } catch (IOException | RuntimeException error) {
      file.letGo(error);
      throw error;
    }
  }

  private static final class Rows extends ParquetWriter.Builder<InternalRow, Rows> {
    Rows(OutputFile file) {
      super(file);
    }

    @Override
    protected Rows self() {
      return this;
    }

    @Override
    @Deprecated
    protected WriteSupport<InternalRow> getWriteSupport(Configuration conf) {
      return new ParquetWriteSupport();
    }
  }

  /** A file that can be closed without its writer, which does not do so if it fails. */
  private static final class LetGo implements OutputFile {
    private final OutputFile file;
    private PositionOutputStream open;

    LetGo(OutputFile file) {
      this.file = file;
    }

    void letGo(Exception why) {
      try {
        if (open != null) {
          open.close();
        }
      } catch (IOException | RuntimeException error) {
        why.addSuppressed(error);
      }
    }

    @Override
    public PositionOutputStream create(long blockSize) throws IOException {
      return open = file.create(blockSize);
    }

    @Override
    public PositionOutputStream createOrOverwrite(long blockSize) throws IOException {
      return open = file.createOrOverwrite(blockSize);
    }

    @Override
    public boolean supportsBlockSize() {
      return file.supportsBlockSize();
    }

    @Override
    public long defaultBlockSize() {
      return file.defaultBlockSize();
    }

    @Override
    public String getPath() {
      return file.getPath();
    }
  }
}
