package nexmark.flink;

import java.io.IOException;
import nexmark.Block;
import nexmark.EventLog;
import org.apache.flink.api.connector.source.SourceReaderContext;
import org.apache.flink.connector.datagen.source.GeneratorFunction;
import org.apache.flink.core.memory.MemorySegment;
import org.apache.flink.core.memory.MemorySegmentFactory;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.data.StringData;
import org.apache.flink.table.data.TimestampData;
import org.apache.flink.table.data.binary.BinaryStringData;
import org.apache.flink.table.types.logical.RowType;

/**
 * The event of each number. A subtask is given numbers in sequence; blocks are shared out in turn, so that all subtasks
 * read about the same time.
 */
final class EventRows implements GeneratorFunction<Long, RowData> {
  private static final long serialVersionUID = 1L;

  private final String folder;
  private final long perSubtask;
  private final int subtasks;
  private final RowType type;
  private transient EventLog log;
  private transient EventRow row;
  private transient int open;

  EventRows(String folder, long events, int subtasks, RowType type) {
    this.folder = folder;
    this.perSubtask = events / subtasks;
    this.subtasks = subtasks;
    this.type = type;
  }

  @Override
  public void open(SourceReaderContext context) throws Exception {
    log = new EventLog(folder);
    row = new EventRow(type);
    open = -1;
  }

  @Override
  public RowData map(Long number) throws IOException {
    long subtask = number / perSubtask;
    long place = number % perSubtask;
    int block = (int) (place / Block.EVENTS * subtasks + subtask);
    if (block != open) {
      row.read(log.block(block));
      open = block;
    }
    row.at((int) (place % Block.EVENTS));
    return row;
  }

  @Override
  public void close() throws Exception {
    if (log != null) {
      log.close();
    }
  }

  /** An event where it is in its block: nothing is read before it is asked for. */
  private static final class EventRow extends ReadOnlyRow {
    private static final int FIRST_KIND = 2;
    private final Part[] parts = new Part[3];
    private int kind;

    EventRow(RowType type) {
      for (int kind = 0; kind < parts.length; kind++) {
        parts[kind] = new Part(kind, ((RowType) type.getTypeAt(FIRST_KIND + kind)));
      }
    }

    void read(Block block) {
      MemorySegment[] segments = {MemorySegmentFactory.wrap(block.bytes)};
      for (Part part : parts) {
        part.block = block;
        part.segments = segments;
      }
    }

    void at(int event) {
      kind = Block.kind(event);
      parts[kind].row = Block.row(event);
    }

    @Override
    public int getArity() {
      return FIRST_KIND + parts.length;
    }

    @Override
    public boolean isNullAt(int i) {
      return i >= FIRST_KIND && i - FIRST_KIND != kind;
    }

    @Override
    public int getInt(int i) {
      return kind;
    }

    @Override
    public TimestampData getTimestamp(int i, int precision) {
      return parts[kind].getTimestamp(parts[kind].time, precision);
    }

    @Override
    public RowData getRow(int i, int fields) {
      return parts[i - FIRST_KIND];
    }
  }

  private static final class Part extends ReadOnlyRow {
    private final int kind;
    private final int fields;
    private final int time;
    private Block block;
    private MemorySegment[] segments;
    private int row;

    Part(int kind, RowType type) {
      this.kind = kind;
      this.fields = type.getFieldCount();
      this.time = type.getFieldIndex("date_time");
    }

    @Override
    public int getArity() {
      return fields;
    }

    @Override
    public boolean isNullAt(int i) {
      return false;
    }

    @Override
    public long getLong(int i) {
      return block.number(kind, i, row);
    }

    @Override
    public TimestampData getTimestamp(int i, int precision) {
      return TimestampData.fromEpochMillis(block.number(kind, i, row));
    }

    @Override
    public StringData getString(int i) {
      return BinaryStringData.fromAddress(segments, block.text(kind, i, row), block.length(kind, i, row));
    }
  }
}
