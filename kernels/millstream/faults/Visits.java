package millstream.faults;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;

/**
 * Reports every place that is met to a listener, one at a time, and goes on when it says so: it may look at the disk
 * meanwhile, or end the process.
 */
final class Visits {
  private final OutputStream out;
  private final BufferedReader in;

  private Visits(Socket socket) throws IOException {
    socket.setTcpNoDelay(true);
    out = socket.getOutputStream();
    in = new BufferedReader(new InputStreamReader(socket.getInputStream(), StandardCharsets.UTF_8));
  }

  /** Null: the environment names no port. */
  static Visits asked() {
    String port = System.getenv("MILLSTREAM_VISITS");
    try {
      return port == null ? null : new Visits(new Socket(InetAddress.getLoopbackAddress(), Integer.parseInt(port)));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  synchronized void tell(String point, long epoch, String sink) {
    try {
      out.write((point + "\t" + epoch + "\t" + sink + "\n").getBytes(StandardCharsets.UTF_8));
      out.flush();
      if (in.readLine() == null) {
        throw new IOException("nobody listens to what is visited");
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
