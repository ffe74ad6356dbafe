package millstream.source;

import java.util.UUID;
import org.apache.spark.sql.streaming.SourceProgress;
import org.apache.spark.sql.streaming.StreamingQueryListener;
import org.apache.spark.sql.streaming.StreamingQueryProgress;

/**
 * A connector's listener beside a running query, for one of its sources: notified of every epoch, asked if all is well.
 *
 * <p>It is created by its class name, with the query's id, the source's place among those of the job, and what the
 * connector adds.
 */
public abstract class SourceListener extends StreamingQueryListener {
  private static final long serialVersionUID = 1L;

  private final UUID query;
  private final int place;

  protected SourceListener(String query, int place) {
    this.query = UUID.fromString(query);
    this.place = place;
  }

  /** An epoch was committed: {@code end} is where the source's input ended, as its offsets' JSON. */
  protected abstract void committed(long epoch, String end);

  /** The query has nothing to read. */
  protected void rests() {}

  /** Throws what the job must stop for: an error that begins with its code, as in {@code MS-SOURCE-007: …}. */
  public void check() {}

  /** The query has ended. Called once, after all its epochs. */
  protected abstract void ended() throws InterruptedException;

  /** Reports the last epoch, whose event may still be on its way; null if there was none. */
  public void finish(StreamingQueryProgress last) throws InterruptedException {
    if (last != null) {
      tell(last);
    }
    ended();
  }

  private void tell(StreamingQueryProgress progress) {
    SourceProgress[] sources = progress.sources();
    if (place < sources.length && sources[place].endOffset() != null) {
      committed(progress.batchId(), sources[place].endOffset());
    }
  }

  @Override
  public final void onQueryStarted(QueryStartedEvent event) {}

  @Override
  public final void onQueryProgress(QueryProgressEvent event) {
    if (event.progress().id().equals(query)) {
      tell(event.progress());
    }
  }

  @Override
  public final void onQueryIdle(QueryIdleEvent event) {
    if (event.id().equals(query)) {
      rests();
    }
  }

  @Override
  public final void onQueryTerminated(QueryTerminatedEvent event) {}
}
