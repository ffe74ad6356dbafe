package millstream.sink;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import millstream.commit.Decision;
import millstream.commit.Decisions;
import org.apache.spark.sql.streaming.StreamingQueryListener;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The second phase: publishes epochs once it is decided that they count. Spark writes its commit log, then reports the
 * epoch's progress; the decisions are what counts here, so a lost or early event does no harm.
 */
public final class Publisher extends StreamingQueryListener implements AutoCloseable {
  private static final long serialVersionUID = 1L;
  private static final Logger LOG = LoggerFactory.getLogger(Publisher.class);

  /** By sinks: what went wrong. Errors that a listener throws go unseen: the run asks, and so does the next epoch. */
  private static final Map<String, Throwable> FAILED = new ConcurrentHashMap<>();

  /** By sinks: the publisher of the run that writes to them. */
  private static final Map<String, Publisher> RUNNING = new ConcurrentHashMap<>();

  private final Tenure tenure;
  private final transient Map<String, Committer> committers = new LinkedHashMap<>();
  private String queryId;
  private long published;
  private boolean closed;

  public Publisher(Tenure tenure) throws IOException {
    this.tenure = tenure;
    this.published = tenure.decisions().lastEpoch();
    for (SinkSpec spec : SinkSpec.parse(tenure.sinks())) {
      committers.put(spec.writer(), SinkKind.of(spec).committer(spec));
    }
    RUNNING.put(tenure.sinks(), this);
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

  static void forget(String sinks) {
    FAILED.remove(sinks);
  }

  /** Publishes every epoch that counts; returns the last one, or -1. */
  public synchronized long publish() throws IOException {
    if (!closed) {
      for (Decision decision : tenure.decisions().unpublished()) {
        publish(decision, committers, tenure.decisions());
        published = decision.epoch();
      }
    }
    return published;
  }

  static void publish(Decision decision, Map<String, Committer> committers, Decisions decisions) throws IOException {
    for (Map.Entry<String, JsonNode> prepared : decision.sinks().properties()) {
      Committer committer = committers.get(prepared.getKey());
      if (committer == null) {
        throw SinkException.sinkGone(prepared.getKey(), decision.epoch());
      }
      committer.publish(decision.epoch(), prepared.getValue(), decisions::requireOwn);
    }
    decisions.published(decision);
  }

  /** The last epoch that is published; -1: none. */
  public synchronized long published() {
    return published;
  }

  private synchronized void publishFor(UUID query) {
    try {
      if (queryId == null) {
        queryId = tenure.paths().queryId();
      }
      if (query.toString().equals(queryId)) {
        publish();
      }
    } catch (IOException | RuntimeException e) {
      LOG.error("a committed epoch could not be published", e);
      FAILED.put(tenure.sinks(), e);
    }
  }

  /** Throws what went wrong: a stream may rest, and then there is no next epoch. */
  public void check() {
    checkHealthy(tenure.sinks());
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

  /**
   * Publishes what is committed, and nothing afterwards; throws away what was begun. To be called before the locks are
   * given back.
   */
  @Override
  public synchronized void close() throws IOException {
    if (closed) {
      return;
    }
    // If it fails, what is committed and not yet published is open still: nothing is thrown away then. Nor while it is
    // in doubt whether the last epoch counts.
    boolean done = false;
    Decisions decisions = tenure.decisions();
    try {
      Decision last = decisions.unrecorded();
      if (last != null) {
        tenure.paths().record(last);
        decisions.recorded();
      }
      publishOrFail();
      decisions.requireOwn();
      done = !decisions.inDoubt();
    } finally {
      closed = true;
      RUNNING.remove(tenure.sinks(), this);
      for (Committer committer : committers.values()) {
        committer.release();
        if (done) {
          committer.discard(decisions.lastEpoch() + 1, decisions.tenure());
        }
        committer.close();
      }
    }
  }
}
