import io.fabric8.kubernetes.client.server.mock.KubernetesCrudDispatcher;
import io.fabric8.kubernetes.client.server.mock.KubernetesMockServer;
import io.fabric8.mockwebserver.Context;
import io.fabric8.mockwebserver.MockWebServer;
import java.net.InetAddress;
import java.util.HashMap;

/** Kubernetes PORT: an API server on loopback that keeps in memory what it is told, until killed. */
public class Kubernetes {
  public static void main(String[] arguments) throws Exception {
    KubernetesMockServer server = new KubernetesMockServer(
        new Context(), new MockWebServer(), new HashMap<>(), new KubernetesCrudDispatcher(), false);
    server.init(InetAddress.getLoopbackAddress(), Integer.parseInt(arguments[0]));
    Thread.sleep(Long.MAX_VALUE);
  }
}
