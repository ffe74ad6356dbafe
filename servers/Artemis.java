import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.activemq.artemis.core.config.Configuration;
import org.apache.activemq.artemis.core.config.impl.ConfigurationImpl;
import org.apache.activemq.artemis.core.server.JournalType;
import org.apache.activemq.artemis.core.server.embedded.EmbeddedActiveMQ;

/** Artemis FOLDER PORT READY: a broker that speaks STOMP on loopback, until killed. */
public class Artemis {
  public static void main(String[] arguments) throws Exception {
    Configuration settings = new ConfigurationImpl();
    settings.addAcceptorConfiguration("stomp", "tcp://127.0.0.1:" + arguments[1] + "?protocols=STOMP");
    settings.setPersistenceEnabled(true);
    settings.setJournalType(JournalType.NIO);
    settings.setJournalDirectory(arguments[0] + "/journal");
    settings.setBindingsDirectory(arguments[0] + "/bindings");
    settings.setLargeMessagesDirectory(arguments[0] + "/large");
    settings.setPagingDirectory(arguments[0] + "/paging");
    settings.setSecurityEnabled(false);
    settings.setMaxDiskUsage(100);
    EmbeddedActiveMQ server = new EmbeddedActiveMQ();
    server.setConfiguration(settings);
    server.start();
    Files.writeString(Path.of(arguments[2]), "ready");
    Thread.sleep(Long.MAX_VALUE);
  }
}
