import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.security.SecureRandom;
import java.util.List;
import javax.net.ssl.KeyManager;
import javax.net.ssl.KeyManagerFactory;
import org.apache.activemq.broker.BrokerService;
import org.apache.activemq.broker.SslContext;
import org.apache.activemq.security.AuthenticationUser;
import org.apache.activemq.security.SimpleAuthenticationPlugin;

/**
 * ActiveMq FOLDER PORT READY USER PASSWORD TLS-PORT KEYS: a Classic broker that speaks STOMP on loopback, until killed.
 * KEYS: its certificate and key, as PKCS 12, under the same password.
 */
public class ActiveMq {
  public static void main(String[] arguments) throws Exception {
    BrokerService broker = new BrokerService();
    broker.setBrokerName("millstream");
    broker.setDataDirectory(arguments[0]);
    broker.setPersistent(true);
    broker.setUseJmx(false);
    broker.setAdvisorySupport(false);
    broker.addConnector("stomp://127.0.0.1:" + arguments[1]);
    broker.setSslContext(new SslContext(keys(arguments[6], arguments[4].toCharArray()), null, new SecureRandom()));
    broker.addConnector("stomp+ssl://127.0.0.1:" + arguments[5]);
    SimpleAuthenticationPlugin login = new SimpleAuthenticationPlugin();
    login.setUsers(List.of(new AuthenticationUser(arguments[3], arguments[4], "users")));
    broker.setPlugins(new org.apache.activemq.broker.BrokerPlugin[] {login});
    broker.start();
    broker.waitUntilStarted();
    Files.writeString(Path.of(arguments[2]), "ready");
    Thread.sleep(Long.MAX_VALUE);
  }

  private static KeyManager[] keys(String file, char[] password) throws Exception {
    KeyStore store = KeyStore.getInstance("PKCS12");
    try (InputStream in = Files.newInputStream(Path.of(file))) {
      store.load(in, password);
    }
    KeyManagerFactory factory = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
    factory.init(store, password);
    return factory.getKeyManagers();
  }
}
