package millstream.python;

import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.channels.Channels;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import millstream.barrier.TaskBarriers;
import org.apache.spark.SparkEnv;
import org.apache.spark.TaskContext;
import org.apache.spark.api.python.PythonWorker;
import org.apache.spark.util.TaskCompletionListener;
import scala.collection.immutable.Map;

/**
 * A Python process that runs a user's code for one task: forked from a daemon, and used again by later tasks.
 *
 * <p>Messages either way are a length, then that many bytes; an answer of length {@link #FAILED} is followed by what
 * went wrong.
 */
public final class Worker {
  private static final int BUFFER = 1 << 16;
  private static final int FAILED = -1;
  private static final String DAEMON = "millstream.spark.python.daemon";
  private static final String MODULE = "millstream.spark.python.worker";

  private final String step;
  private final WorkerPlace place;
  private final Map<String, String> environment;
  private final PythonWorker worker;
  private final DataInputStream in;
  private final DataOutputStream out;
  /** NULL: the task runs without barriers. */
  private final TaskBarriers barriers = TaskBarriers.here();

  private boolean over;

  private Worker(String step, WorkerPlace place) throws IOException {
    this.step = step;
    this.place = place;
    this.environment = place.asScala();
    this.worker = SparkEnv.get()
        .createPythonWorker(place.python(), MODULE, DAEMON, environment)
        ._1();
    SocketChannel channel = worker.channel();
    if (worker.selectionKey() != null) {
      worker.selectionKey().cancel();
      worker.selector().close();
    }
    channel.configureBlocking(true);
    this.in = new DataInputStream(new BufferedInputStream(Channels.newInputStream(channel), BUFFER));
    this.out = new DataOutputStream(new BufferedOutputStream(Channels.newOutputStream(channel), BUFFER));
  }

  /** A worker that knows what to run. It goes back to the pool when the task ends well, and is ended otherwise. */
  public static Worker start(String step, WorkerPlace place, byte[] command) {
    try {
      Worker started = new Worker(step, place);
      TaskCompletionListener ending = context -> started.end(!context.isFailed() && !context.isInterrupted());
      TaskContext.get().addTaskCompletionListener(ending);
      started.send(command);
      return started;
    } catch (IOException error) {
      throw new UncheckedIOException("a Python worker could not be started", error);
    }
  }

  public void send(byte[]... messages) {
    try {
      for (byte[] message : messages) {
        out.writeInt(message.length);
        out.write(message);
      }
      out.flush();
    } catch (IOException error) {
      throw died(error);
    }
  }

  /** Waits for as long as the user's code takes. */
  public byte[] receive() {
    if (barriers == null) {
      return next();
    }
    TaskBarriers.Busy own = barriers.busy(step);
    try {
      return next();
    } finally {
      barriers.done(own);
    }
  }

  private byte[] next() {
    try {
      int length = in.readInt();
      if (length == FAILED) {
        String what = new String(in.readNBytes(in.readInt()), StandardCharsets.UTF_8);
        end(false);
        throw new PythonException(what);
      }
      byte[] message = in.readNBytes(length);
      if (message.length < length) {
        throw new EOFException();
      }
      return message;
    } catch (IOException error) {
      throw died(error);
    }
  }

  private PythonException died(IOException error) {
    end(false);
    return new PythonException(
        "MS-PROCESS-105: step \"" + step + "\" lost its Python process in the midst of its work: " + error);
  }

  /** Whether it did all that it was asked: then another task may have it. */
  public synchronized void end(boolean well) {
    if (over) {
      return;
    }
    over = true;
    SparkEnv env = SparkEnv.get();
    if (well) {
      send(new byte[0]);
      env.releasePythonWorker(place.python(), MODULE, DAEMON, environment, worker);
    } else {
      env.destroyPythonWorker(place.python(), MODULE, DAEMON, environment, worker);
    }
  }
}
