import io.fabric8.kubernetes.api.model.GenericKubernetesResource;
import io.fabric8.kubernetes.client.server.mock.KubernetesCrudDispatcher;
import io.fabric8.kubernetes.client.server.mock.KubernetesMockServer;
import io.fabric8.kubernetes.client.utils.Serialization;
import io.fabric8.mockwebserver.Context;
import io.fabric8.mockwebserver.MockWebServer;
import io.fabric8.mockwebserver.crud.AttributeSet;
import io.fabric8.mockwebserver.dsl.HttpMethod;
import io.fabric8.mockwebserver.http.MockResponse;
import io.fabric8.mockwebserver.http.RecordedRequest;
import java.net.InetAddress;
import java.util.HashMap;
import java.util.Map;

/** Kubernetes PORT: an API server on loopback that keeps what it receives in memory, until killed. */
public class Kubernetes {
  private static final String APPLY = "application/apply-patch";

  public static void main(String[] arguments) throws Exception {
    KubernetesMockServer server = new KubernetesMockServer(
        new Context(Serialization.jsonMapper()), new MockWebServer(), new HashMap<>(), new Objects(), false);
    server.init(InetAddress.getLoopbackAddress(), Integer.parseInt(arguments[0]));
    Thread.sleep(Long.MAX_VALUE);
  }

  /** A new pod waits for a kubelet, and says so: of a real server it gets that by itself. */
  private static final class Objects extends KubernetesCrudDispatcher {
    @Override
    public void processEvent(
        String path, AttributeSet asked, AttributeSet before, GenericKubernetesResource made, String text) {
      if (made != null && "Pod".equals(made.getKind()) && made.get("status") == null) {
        made.setAdditionalProperty("status", Map.of("phase", "Pending"));
        super.processEvent(path, asked, before, made, Serialization.asJson(made));
      } else {
        super.processEvent(path, asked, before, made, text);
      }
    }

    /** What is applied, and not there, is made. What is there stays as it is: Spark applies nothing twice. */
    @Override
    public MockResponse handlePatch(RecordedRequest asked) {
      String kind = asked.getHeader("Content-Type");
      if (kind == null || !kind.startsWith(APPLY)) {
        return super.handlePatch(asked);
      }
      String path = asked.getPath().replaceFirst("\\?.*", "");
      MockResponse there = handleGet(path);
      return there.code() == 200 ? there : handleCreate(post(path.replaceFirst("/[^/]+$", ""), asked));
    }

    private static RecordedRequest post(String path, RecordedRequest asked) {
      return new RecordedRequest(
          asked.getHttpVersion(), HttpMethod.POST, path, asked.getHeaders(), asked.getBody());
    }
  }
}
