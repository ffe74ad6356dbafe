package millstream.operator;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.type.TypeReference;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.MapperFeature;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.PropertyNamingStrategies;
import com.fasterxml.jackson.databind.json.JsonMapper;
import java.util.List;

/**
 * One operator of a stage, as the lowering describes it, and its settings: the fields of a record of its kind.
 *
 * <p>A field that a record does not have is refused, and so is one that is missing: both sides must have been built
 * together.
 *
 * @param keys where its key columns are in the stage's key
 * @param port the payload column of its first input; the others follow
 * @param upserts whether all that reads it upserts by its key
 * @param follows whether rows come from a step that lets them wait
 * @param images for each reader, SQL for what it sees of a row; NULL: all of it
 */
public record Told(
    String kind,
    String name,
    List<Integer> keys,
    int port,
    boolean upserts,
    boolean follows,
    List<String> images,
    JsonNode told) {
  private static final ObjectMapper JSON = JsonMapper.builder()
      .propertyNamingStrategy(PropertyNamingStrategies.SNAKE_CASE)
      .enable(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES)
      .enable(DeserializationFeature.FAIL_ON_MISSING_CREATOR_PROPERTIES)
      .enable(DeserializationFeature.FAIL_ON_NULL_FOR_PRIMITIVES)
      .disable(DeserializationFeature.ACCEPT_FLOAT_AS_INT)
      .disable(MapperFeature.ALLOW_COERCION_OF_SCALARS)
      .build();

  /** All operators of a stage. */
  public static List<Told> all(String json) {
    try {
      return JSON.readValue(json, new TypeReference<List<Told>>() {});
    } catch (JsonProcessingException error) {
      throw new IllegalArgumentException(
          "a stage was told what it does not understand: " + error.getOriginalMessage(), error);
    }
  }

  /** The settings of operators of its kind. */
  public <T> T as(Class<T> record) {
    try {
      return JSON.treeToValue(told, record);
    } catch (JsonProcessingException error) {
      throw new IllegalArgumentException(
          "step \"" + name + "\" was told what operators of kind " + kind + " do not understand: "
              + error.getOriginalMessage(),
          error);
    }
  }

  /** The JSON of such a record. */
  public static JsonNode json(Object record) {
    return JSON.valueToTree(record);
  }
}
