package millstream.avro;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.io.Serializable;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Base64;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.avro.Schema;

/** A schema registry that speaks Confluent's protocol. Its answers are kept: a schema's id never changes. */
public final class Registry implements Serializable {
  private static final long serialVersionUID = 1L;
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final int UNKNOWN_SCHEMA = 40403;
  private static final Map<String, Schema> BY_ID = new ConcurrentHashMap<>();
  private static final Map<String, Integer> REGISTERED = new HashMap<>();

  private static final class Web {
    static final HttpClient CLIENT =
        HttpClient.newBuilder().connectTimeout(Duration.ofSeconds(10)).build();
  }

  private final String url;
  private final String login;

  /** {@code login}: {@code user:password}, or empty. */
  public Registry(String url, String login) {
    this.url = url.replaceAll("/+$", "");
    this.login = login;
  }

  /** Null if it has no schema of this id. */
  Schema schema(int id) throws IOException {
    String place = url + " " + id;
    Schema known = BY_ID.get(place);
    if (known == null) {
      HttpRequest request = request("/schemas/ids/" + id).GET().build();
      HttpResponse<String> answer = send(request);
      if (answer.statusCode() == 404 && unknownSchema(answer.body())) {
        return null;
      }
      known = new Schema.Parser().parse(read(request, answer).path("schema").asText());
      BY_ID.put(place, known);
    }
    return known;
  }

  /** The id under which records of this schema are found; registered if it was not. */
  public int register(String subject, Schema schema) throws IOException {
    String place = url + " " + subject + " " + schema;
    synchronized (REGISTERED) {
      Integer known = REGISTERED.get(place);
      if (known == null) {
        ObjectNode body = JSON.createObjectNode().put("schema", schema.toString());
        String path = "/subjects/" + URLEncoder.encode(subject, StandardCharsets.UTF_8) + "/versions";
        HttpRequest.Builder post = request(path).header("Content-Type", "application/vnd.schemaregistry.v1+json");
        known = registered(
            post.POST(HttpRequest.BodyPublishers.ofString(body.toString())).build());
        REGISTERED.put(place, known);
      }
      return known;
    }
  }

  /**
   * If two executors register a subject at once, one gets a conflict: when it asks again, it finds the schema there.
   */
  private int registered(HttpRequest request) throws IOException {
    HttpResponse<String> answer = send(request);
    return read(request, answer.statusCode() == 409 ? send(request) : answer)
        .path("id")
        .asInt();
  }

  private HttpRequest.Builder request(String path) {
    HttpRequest.Builder request = HttpRequest.newBuilder(URI.create(url + path)).timeout(Duration.ofSeconds(20));
    if (!login.isEmpty()) {
      String code = Base64.getEncoder().encodeToString(login.getBytes(StandardCharsets.UTF_8));
      request.header("Authorization", "Basic " + code);
    }
    return request;
  }

  /** Not if the address is wrong and nothing is found there at all. */
  private static boolean unknownSchema(String body) {
    try {
      return JSON.readTree(body).path("error_code").asInt() == UNKNOWN_SCHEMA;
    } catch (IOException e) {
      return false;
    }
  }

  private static JsonNode read(HttpRequest request, HttpResponse<String> answer) throws IOException {
    int status = answer.statusCode();
    if (status != 200) {
      boolean passing = status >= 500 || status == 429;
      throw new IOException((passing ? "MS-AVRO-003" : "MS-AVRO-001") + ": the schema registry answers " + request.uri()
          + " with " + status + ": " + answer.body().lines().findFirst().orElse(""));
    }
    return JSON.readTree(answer.body());
  }

  private static HttpResponse<String> send(HttpRequest request) throws IOException {
    try {
      return Web.CLIENT.send(request, HttpResponse.BodyHandlers.ofString());
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IOException("interrupted", e);
    } catch (IOException e) {
      throw new IOException("MS-AVRO-003: the schema registry does not answer at " + request.uri() + ": " + e, e);
    }
  }
}
