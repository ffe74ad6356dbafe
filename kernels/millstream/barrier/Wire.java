package millstream.barrier;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.io.ObjectStreamClass;
import java.io.Serializable;
import java.io.UncheckedIOException;
import java.util.HashMap;

/**
 * Drivers and executors exchange bytes: Spark's own RPC threads started before the session's jars arrived, and do not
 * know our classes.
 */
final class Wire {
  private Wire() {}

  /** An executor waits for a barrier later than the last that it knows. */
  record Await(String executor, long last) implements Serializable {}

  /**
   * A task reports how far event time is in what it has read, by accumulator.
   *
   * @param quiet for how many milliseconds its partition of the source has had no row
   */
  record Seen(HashMap<Long, Long> times, String source, int partition, long quiet) implements Serializable {}

  /** Users' code that has been running for this long, in seconds, in one of an executor's tasks. */
  record Working(String step, long seconds) implements Serializable {}

  static byte[] bytes(Serializable message) {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try (ObjectOutputStream out = new ObjectOutputStream(bytes)) {
      out.writeObject(message);
    } catch (IOException error) {
      throw new UncheckedIOException(error);
    }
    return bytes.toByteArray();
  }

  static Object read(byte[] bytes, ClassLoader classes) {
    try (ObjectInputStream in = new Reading(new ByteArrayInputStream(bytes), classes)) {
      return in.readObject();
    } catch (IOException error) {
      throw new UncheckedIOException(error);
    } catch (ClassNotFoundException error) {
      throw new IllegalStateException(error);
    }
  }

  private static final class Reading extends ObjectInputStream {
    private final ClassLoader classes;

    Reading(InputStream in, ClassLoader classes) throws IOException {
      super(in);
      this.classes = classes;
    }

    @Override
    protected Class<?> resolveClass(ObjectStreamClass wanted) throws IOException, ClassNotFoundException {
      try {
        return Class.forName(wanted.getName(), false, classes);
      } catch (ClassNotFoundException unknown) {
        return super.resolveClass(wanted);
      }
    }
  }
}
