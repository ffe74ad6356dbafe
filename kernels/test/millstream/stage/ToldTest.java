package millstream.stage;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import millstream.operator.Told;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * What operators are told, against the golden JSON that the lowering's tests write: the records know just its fields.
 */
final class ToldTest {
  private static final Path GOLDEN = Path.of("tests", "told", "golden");
  private static final ObjectMapper JSON = new ObjectMapper();

  static List<String> kinds() throws IOException {
    try (Stream<Path> files = Files.list(GOLDEN)) {
      return files
          .map(file -> file.getFileName().toString().replace(".json", ""))
          .sorted()
          .toList();
    }
  }

  private static ObjectNode golden(String kind) throws IOException {
    return (ObjectNode) JSON.readTree(Files.readString(GOLDEN.resolve(kind + ".json")));
  }

  private static Record read(JsonNode hosted) {
    return StageSpec.record(Told.all("[" + hosted + "]").get(0));
  }

  private static String refusal(JsonNode hosted) {
    return assertThrows(IllegalArgumentException.class, () -> read(hosted)).getMessage();
  }

  /** All that has fields of its own; the environment's may be any. */
  private static List<ObjectNode> objects(JsonNode node) {
    List<ObjectNode> found = new ArrayList<>();
    if (node instanceof ObjectNode object) {
      found.add(object);
    }
    node.properties().forEach(field -> {
      if (!field.getKey().equals("environment")) {
        found.addAll(objects(field.getValue()));
      }
    });
    if (node.isArray()) {
      node.forEach(part -> found.addAll(objects(part)));
    }
    return found;
  }

  @Test
  void everyKindHasAnExample() throws IOException {
    assertEquals(StageSpec.kinds(), kinds());
  }

  @ParameterizedTest
  @MethodSource("kinds")
  void readAndWritten(String kind) throws IOException {
    // As text: a record has longs where the file's numbers are read as ints.
    assertEquals(
        golden(kind).get("told").toString(), Told.json(read(golden(kind))).toString());
  }

  @ParameterizedTest
  @MethodSource("kinds")
  void aFieldThatIsUnknown(String kind) throws IOException {
    for (int i = 0; i < objects(golden(kind)).size(); i++) {
      ObjectNode hosted = golden(kind);
      objects(hosted).get(i).put("later", true);
      assertTrue(refusal(hosted).contains("\"later\""));
    }
  }

  @ParameterizedTest
  @MethodSource("kinds")
  void aFieldThatIsMissing(String kind) throws IOException {
    List<ObjectNode> all = objects(golden(kind));
    for (int i = 0; i < all.size(); i++) {
      for (var field : all.get(i).properties()) {
        ObjectNode hosted = golden(kind);
        objects(hosted).get(i).remove(field.getKey());
        assertTrue(refusal(hosted).contains("'" + field.getKey() + "'"), field.getKey());
      }
    }
  }

  @Test
  void aKindThatIsUnknown() throws IOException {
    assertEquals("no operator of kind later", refusal(golden("pass").put("kind", "later")));
  }

  @Test
  void aValueOfAnotherType() throws IOException {
    ObjectNode hosted = golden("hopping");
    ((ObjectNode) hosted.get("told")).put("windows", "6");
    String text = refusal(hosted);
    assertTrue(text.startsWith("step \"totals\" was told what operators of kind hopping do not understand:"), text);
  }
}
