package millstream.metrics;

import java.io.Serializable;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.json.JSONOptions;
import org.apache.spark.sql.catalyst.json.JacksonGenerator;
import org.apache.spark.sql.types.StructType;
import scala.jdk.javaapi.CollectionConverters;

/** Where rows pass that people may look at: a few are kept as text. Where nobody may, there is no tap. */
public final class Tap implements Serializable {
  private static final long serialVersionUID = 1L;
  private static final int LONGEST = 2_000;
  private static final Map<String, String> NULLS_TOO = Map.of("ignoreNullFields", "false");

  private final Samples samples;
  private final StructType type;
  /** Whether rows are of a type that has no JSON. */
  private transient boolean speechless;

  Tap(Samples samples, StructType type) {
    this.samples = samples;
    this.type = type;
  }

  /** Lets the rate be kept, in the task that is about to see rows. */
  public Tap begin() {
    CoarseClock.runInTask();
    return this;
  }

  /** Whether the row that passes is to be kept. */
  public boolean wants() {
    return samples.wants() && !speechless;
  }

  public void keep(InternalRow row, long weight) {
    keep(json(row), weight);
  }

  public void see(InternalRow row, long weight) {
    if (wants()) {
      keep(row, weight);
    }
  }

  /** A row that is text already; null: it has none. */
  public void see(byte[] text, long weight) {
    if (text != null && samples.wants()) {
      keep(new String(text, StandardCharsets.UTF_8), weight);
    }
  }

  private void keep(String row, long weight) {
    if (row != null) {
      String told = row.length() > LONGEST ? row.substring(0, LONGEST) + "…" : row;
      samples.add(new Sampled.Line(System.currentTimeMillis(), weight, told));
    }
  }

  private String json(InternalRow row) {
    try {
      StringWriter text = new StringWriter();
      scala.collection.immutable.Map<String, String> options =
          scala.collection.immutable.Map.from(CollectionConverters.asScala(NULLS_TOO));
      JacksonGenerator generator = new JacksonGenerator(type, text, new JSONOptions(options, "UTC", ""));
      generator.write(row);
      generator.close();
      return text.toString();
    } catch (RuntimeException noJson) {
      speechless = true; // to look at rows must not end a run
      return null;
    }
  }
}
