package millstream.rabbitmq;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.rabbitmq.stream.AuthenticationFailureException;
import com.rabbitmq.stream.StreamException;
import com.rabbitmq.stream.impl.Client;
import com.rabbitmq.stream.impl.Client.ClientParameters;
import io.netty.handler.ssl.SslContextBuilder;
import java.io.File;
import java.io.Serializable;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import javax.net.ssl.SSLException;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/**
 * The settings of a reader of streams. {@code tls}: null, or whom to trust: a PEM file, or nothing for Java's own list.
 * {@code starting}: "earliest", "latest", milliseconds since 1970, or offsets by stream, as JSON.
 */
record StreamOptions(Address address, ArrayList<String> streams, String starting, long maxRowsPerEpoch, boolean skips)
    implements Serializable {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final Duration PATIENCE = Duration.ofSeconds(10);
  private static final Duration HEARTBEAT = Duration.ofSeconds(20);

  /** The server's address and login. */
  record Address(String host, int port, String virtualHost, String user, String password, String tls)
      implements Serializable {
    @Override
    public String toString() {
      return host + ":" + port;
    }
  }

  static StreamOptions of(CaseInsensitiveStringMap options) {
    Address address = new Address(
        options.get("host"),
        options.getInt("port", Client.DEFAULT_PORT),
        options.getOrDefault("virtualHost", "/"),
        options.get("user"),
        options.get("password"),
        options.get("tls"));
    return new StreamOptions(
        address,
        new ArrayList<>(names(options.get("streams"))),
        options.getOrDefault("starting", "earliest"),
        options.getLong("maxRowsPerEpoch", 0),
        options.getBoolean("skips", false));
  }

  private static List<String> names(String json) {
    try {
      return List.of(JSON.readValue(json, String[].class));
    } catch (JsonProcessingException e) {
      throw RabbitException.notOffsets(json);
    }
  }

  /** A connection. The leader of a stream, and its replicas, all know what is committed. */
  Client connect(ClientParameters parameters) {
    parameters
        .host(address.host)
        .port(address.port)
        .virtualHost(address.virtualHost)
        .username(address.user)
        .password(address.password)
        .requestedHeartbeat(HEARTBEAT)
        .rpcTimeout(PATIENCE);
    try {
      if (address.tls != null) {
        SslContextBuilder context = SslContextBuilder.forClient();
        parameters.sslContext((address.tls.isEmpty() ? context : context.trustManager(new File(address.tls))).build());
      }
      return new Client(parameters);
    } catch (AuthenticationFailureException e) {
      throw RabbitException.refused(e.getMessage(), e);
    } catch (StreamException | SSLException | IllegalStateException e) {
      throw RabbitException.noAnswer(address + ": " + e.getMessage(), e);
    }
  }
}
