package millstream.sink;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.sql.streaming.StreamingQueryListener;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The second phase: publishes epochs once Spark has committed them. Spark writes its commit log, then tells of the
 * epoch's progress; the log itself is what counts here, so a lost or early event does no harm.
 */
public final class Publisher extends StreamingQueryListener implements AutoCloseable {
  private static final long serialVersionUID = 1L;
  private static final Logger LOG = LoggerFactory.getLogger(Publisher.class);

  /**
   * By sinks: what went wrong. Nobody sees an error that a listener throws: the run asks, and so does the next epoch.
   */
  private static final Map<String, Throwable> FAILED = new ConcurrentHashMap<>();

  /** By sinks: the publisher of the run that writes to them. */
  private static final Map<String, Publisher> RUNNING = new ConcurrentHashMap<>();

  private final String sinks;
  private final transient Commits commits;
  private final transient List<Committer> committers = new ArrayList<>();
  private String queryId;
  private long published = -1;
  private boolean closed;

  public Publisher(String sinks, String checkpoint) throws IOException {
    this.sinks = sinks;
    this.commits = new Commits(CheckpointPaths.parse(checkpoint));
    for (SinkSpec spec : SinkSpec.parse(sinks)) {
      committers.add(SinkKind.of(spec).committer(spec));
    }
    RUNNING.put(sinks, this);
  }

  /** The last published epoch, when all that is committed is published: called between two epochs. */
  static long publishNow(String sinks) {
    Publisher running = RUNNING.get(sinks);
    return running == null ? -1 : running.publishOrFail();
  }

  private long publishOrFail() {
    try {
      return publish();
    } catch (IOException e) {
      throw SinkException.publishFailed(e);
    }
  }

  static void checkHealthy(String sinks) {
    Throwable failed = FAILED.get(sinks);
    if (failed != null) {
      throw SinkException.publishFailed(failed);
    }
  }

  /** Before anything is changed that another run may have taken over. */
  static void requireOwn(String sinks) throws IOException {
    Publisher running = RUNNING.get(sinks);
    if (running != null) {
      running.commits.requireOwn();
    }
  }

  static void forget(String sinks) {
    FAILED.remove(sinks);
  }

  /** Publishes every epoch that the checkpoint says is committed; gives the last one, or -1. */
  public synchronized long publish() throws IOException {
    long last = closed ? published : commits.last();
    if (last > published) {
      commits.requireOwn();
      for (Committer committer : committers) {
        committer.publish(last);
      }
      published = last;
    }
    return published;
  }

  /** The last epoch that this run has published; -1: none. */
  public synchronized long published() {
    return published;
  }

  private synchronized void publishFor(UUID query) {
    try {
      if (queryId == null) {
        queryId = commits.queryId();
      }
      if (query.toString().equals(queryId)) {
        publish();
      }
    } catch (IOException | RuntimeException e) {
      LOG.error("a committed epoch could not be published", e);
      FAILED.put(sinks, e);
    }
  }

  /** Throws what went wrong: a stream may rest, and there is no next epoch then. */
  public void check() {
    checkHealthy(sinks);
  }

  @Override
  public void onQueryStarted(QueryStartedEvent event) {}

  @Override
  public void onQueryProgress(QueryProgressEvent event) {
    publishFor(event.progress().id());
  }

  @Override
  public void onQueryTerminated(QueryTerminatedEvent event) {
    publishFor(event.id());
  }

  /** Publishes what is committed, and nothing afterwards: to be called before the locks are given back. */
  @Override
  public synchronized void close() throws IOException {
    if (closed) {
      return;
    }
    try {
      publishOrFail();
      commits.requireOwn();
      // Not if that failed: what is committed and not yet published is open still.
      for (Committer committer : committers) {
        committer.finish();
      }
    } finally {
      closed = true;
      RUNNING.remove(sinks, this);
      for (Committer committer : committers) {
        committer.release();
        committer.close();
      }
    }
  }
}
