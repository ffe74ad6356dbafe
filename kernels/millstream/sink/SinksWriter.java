package millstream.sink;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import millstream.barrier.Barrier;
import millstream.barrier.SealsEpochs;
import millstream.barrier.TaskBarriers;
import millstream.faults.Faults;
import millstream.metrics.Counts;
import millstream.metrics.Meters;
import millstream.metrics.Tap;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.write.DataWriter;
import org.apache.spark.sql.connector.write.WriterCommitMessage;
import org.apache.spark.sql.connector.write.streaming.StreamingDataWriterFactory;
import org.apache.spark.sql.types.StructType;

/** A task's side of an epoch: hands each row to the sink that it names. */
final class SinksWriter implements DataWriter<InternalRow>, SealsEpochs {
  /** What the task prepared, by sink; null where it had no rows. */
  record Message(TaskWriter.Prepared[] sinks) implements WriterCommitMessage {}

  record Factory(
      ArrayList<SinkSpec> specs,
      StructType schema,
      boolean each,
      long published,
      long tenure,
      ArrayList<Counts> counts,
      ArrayList<Tap> taps)
      implements StreamingDataWriterFactory {
    @Override
    public DataWriter<InternalRow> createWriter(int task, long attempt, long epoch) {
      TaskBarriers barriers = TaskBarriers.here();
      SinkKind.TaskId id = new SinkKind.TaskId(epoch, task, tenure, attempt, each, published, barriers != null);
      SinksWriter writer = new SinksWriter(this, id);
      if (barriers != null) {
        barriers.sink(writer);
      }
      return writer;
    }
  }

  static Factory factory(
      List<SinkSpec> specs, StructType schema, boolean each, long published, long tenure, Meters meters) {
    ArrayList<Counts> counts = new ArrayList<>();
    ArrayList<Tap> taps = new ArrayList<>();
    for (int sink = 0; sink < specs.size(); sink++) {
      counts.add(meters.sink(specs.get(sink).name()));
      int column = column(schema, sink);
      StructType type = column < 0 ? null : (StructType) schema.fields()[column].dataType();
      taps.add(meters.sinkTap(specs.get(sink).name(), type));
    }
    return new Factory(new ArrayList<>(specs), schema, each, published, tenure, counts, taps);
  }

  /** Of the whole row that goes to this sink; -1: it is given as text. */
  private static int column(StructType schema, int sink) {
    scala.Option<Object> column = schema.getFieldIndex("row" + sink);
    return column.isEmpty() ? -1 : (Integer) column.get();
  }

  private final ArrayList<SinkSpec> specs;
  private final ArrayList<Counts> counts;
  /** By sink, where people may look at what it is given; null: they may not. */
  private final ArrayList<Tap> taps;

  private SinkKind.TaskId task;
  private WeightedWriter[] writers;
  private long rows;
  /** By sink, the column of the whole row, or -1. */
  private final int[] columns;

  private final int[] widths;

  private SinksWriter(Factory made, SinkKind.TaskId task) {
    this.specs = made.specs();
    this.counts = made.counts();
    this.taps = made.taps().contains(null) || made.taps().isEmpty() ? null : made.taps();
    if (taps != null) {
      taps.get(0).begin();
    }
    this.task = task;
    StructType schema = made.schema();
    this.writers = new WeightedWriter[specs.size()];
    this.columns = new int[specs.size()];
    this.widths = new int[specs.size()];
    for (int sink = 0; sink < columns.length; sink++) {
      columns[sink] = column(schema, sink);
      widths[sink] = columns[sink] < 0 ? 0 : ((StructType) schema.fields()[columns[sink]].dataType()).length();
    }
  }

  @Override
  public void write(InternalRow row) throws IOException {
    int sink = row.getInt(0);
    if (sink < 0 || sink >= writers.length) {
      throw SinkException.badOption("a row names sink " + sink + " of " + writers.length + ".");
    }
    SinkSpec spec = specs.get(sink);
    if (writers[sink] == null) {
      Faults.at("sink.open", task.epoch(), spec.name());
      TaskWriter counted = new CountedWriter(SinkKind.of(spec).writer(spec, task), counts.get(sink));
      writers[sink] = WeightedWriter.of(spec, counted, task.each());
    }
    Faults.at("sink.write", task.epoch(), spec.name());
    byte[] key = row.isNullAt(1) ? null : row.getBinary(1);
    byte[] value = row.isNullAt(2) ? null : row.getBinary(2);
    InternalRow whole = whole(row, sink);
    writers[sink].write(key, value, whole, row.getLong(3));
    if (taps != null) {
      see(taps.get(sink), key, value, whole, row.getLong(3));
    }
    rows++;
  }

  /** Of a row that is taken back, a sink may be given the key alone. */
  private static void see(Tap tap, byte[] key, byte[] value, InternalRow whole, long weight) {
    if (whole != null) {
      tap.see(whole, weight);
    } else {
      tap.see(value == null ? key : value, weight);
    }
  }

  /** The row with its types, for sinks that ask for it. */
  private InternalRow whole(InternalRow row, int sink) {
    int column = columns[sink];
    return column < 0 ? null : row.getStruct(column, widths[sink]);
  }

  @Override
  public WriterCommitMessage commit() throws IOException {
    return new Rows(task.epoch(), writers, rows).prepare();
  }

  /** Behind a barrier the next epoch begins, while the rows of this one are made durable. */
  @Override
  public Sealed seal(Barrier barrier) {
    Rows sealed = new Rows(task.epoch(), writers, rows);
    writers = new WeightedWriter[specs.size()];
    rows = 0;
    task = new SinkKind.TaskId(
        barrier.epoch() + 1, task.task(), task.tenure(), task.attempt(), task.each(), barrier.published(), true);
    return sealed;
  }

  /** The task's rows of one epoch. */
  private final class Rows implements Sealed {
    private final long epoch;
    private final WeightedWriter[] written;
    private final long count;

    Rows(long epoch, WeightedWriter[] written, long count) {
      this.epoch = epoch;
      this.written = written;
      this.count = count;
    }

    @Override
    public long rows() {
      return count;
    }

    @Override
    public WriterCommitMessage prepare() throws IOException {
      TaskWriter.Prepared[] prepared = new TaskWriter.Prepared[written.length];
      for (int sink = 0; sink < written.length; sink++) {
        if (written[sink] != null) {
          Faults.at("sink.close", epoch, specs.get(sink).name());
          prepared[sink] = written[sink].prepare();
        }
      }
      return new Message(prepared);
    }
  }

  @Override
  public void abort() throws IOException {
    for (WeightedWriter writer : writers) {
      if (writer != null) {
        writer.abort();
      }
    }
  }

  @Override
  public void close() {}
}
