package millstream.journal;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.Optional;
import millstream.source.Shares;
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream;
import org.apache.spark.sql.connector.read.streaming.Offset;
import org.apache.spark.sql.connector.read.streaming.ReadLimit;
import org.apache.spark.sql.connector.read.streaming.ReadMaxRows;
import org.apache.spark.sql.connector.read.streaming.ReportsSourceMetrics;
import org.apache.spark.sql.connector.read.streaming.SupportsRealTimeMode;
import org.apache.spark.sql.connector.read.streaming.SupportsTriggerAvailableNow;

/** A log as a stream: by epochs with known ends, or in real time, where an epoch ends when its time is over. */
public abstract class LogStream<P extends Comparable<P>, O extends LogOffset<P>>
    implements MicroBatchStream, SupportsTriggerAvailableNow, SupportsRealTimeMode, ReportsSourceMetrics {
  private final Disk disk;
  private final String checkpoint;
  private final long maxRowsPerEpoch;
  private boolean realTime;
  private boolean availableNow;
  private boolean begun;
  private O initial;
  private O newest;

  /** {@code maxRowsPerEpoch}: 0 if there is no limit. */
  protected LogStream(String checkpoint, long maxRowsPerEpoch) {
    this.disk = Disk.of(checkpoint);
    this.checkpoint = Disk.plain(checkpoint);
    this.maxRowsPerEpoch = maxRowsPerEpoch;
  }

  /** Where the user wants a new job to begin. */
  protected abstract O starting();

  /** Where the log ends now. */
  protected abstract O end();

  /** An error if the log cannot be read from here on. */
  protected abstract void check(O start);

  protected abstract O offset(Map<P, Long> next);

  @Override
  public abstract O deserializeOffset(String json);

  /** For a figure of an epoch, which is no reason to fail: null if the end cannot be told. */
  protected O endIfKnown() {
    return end();
  }

  /**
   * Found once, and kept: Spark logs where the first epoch ends, and not where it begins. If it is run again after a
   * crash, "latest" must not have moved.
   */
  @Override
  public final Offset initialOffset() {
    try {
      String file = checkpoint + "/initial";
      byte[] found = initial == null ? disk.readIfThere(file) : null;
      if (found != null) {
        initial = deserializeOffset(new String(found, StandardCharsets.UTF_8));
      }
      if (initial == null) {
        initial = starting();
        disk.makeFolder(checkpoint);
        disk.writeAtomically(file, initial.json().getBytes(StandardCharsets.UTF_8));
      }
      return initial;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @Override
  public final ReadLimit getDefaultReadLimit() {
    return maxRowsPerEpoch > 0 ? ReadLimit.maxRows(maxRowsPerEpoch) : ReadLimit.allAvailable();
  }

  @Override
  public final void prepareForTriggerAvailableNow() {
    availableNow = true;
  }

  @Override
  public final void prepareForRealTimeMode() {
    realTime = true;
  }

  @Override
  public final Offset latestOffset() {
    throw new UnsupportedOperationException("latestOffset(Offset, ReadLimit) is called instead");
  }

  @Override
  public final Offset latestOffset(Offset from, ReadLimit limit) {
    O start = cast(from);
    if (!begun) {
      check(start);
      begun = true;
    }
    if (realTime) {
      // Spark takes an epoch's end from its tasks; to look for it here would only delay the next epoch.
      return start;
    }
    if (newest == null || !availableNow) {
      newest = end();
    }
    return limit instanceof ReadMaxRows rows
        ? offset(Shares.limited(start::of, newest.byPart(), rows.maxRows()))
        : newest;
  }

  @Override
  public final Offset reportLatestOffset() {
    return newest;
  }

  /** Asked when an epoch has ended. In real time the log's end has not been looked up until then. */
  @Override
  public final Map<String, String> metrics(Optional<Offset> read) {
    O end = realTime ? endIfKnown() : newest;
    if (end == null || read.isEmpty()) {
      return Map.of();
    }
    O at = cast(read.get());
    return Map.of("rowsBehind", Long.toString(Shares.behind(at::of, end.byPart())));
  }

  /** Spark hands over what {@link #deserializeOffset} and this class have made. */
  @SuppressWarnings("unchecked")
  protected final O cast(Offset offset) {
    return (O) offset;
  }

  @Override
  public void commit(Offset end) {}

  @Override
  public void stop() {}
}
