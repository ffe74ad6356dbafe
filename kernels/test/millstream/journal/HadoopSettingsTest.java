package millstream.journal;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.DataOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import org.apache.hadoop.conf.Configuration;
import org.junit.jupiter.api.Test;

final class HadoopSettingsTest {
  /** One of Hadoop's own files sets it. */
  private static final String DEFAULT = "io.file.buffer.size";

  private static long sent(Configuration conf) throws IOException {
    DataOutputStream out = new DataOutputStream(OutputStream.nullOutputStream());
    conf.write(out);
    return out.size();
  }

  @Test
  void defaultsStayAndWeighLess() throws IOException {
    Configuration conf = new Configuration();
    String value = conf.get(DEFAULT);
    long before = sent(conf);
    assertNotNull(value);
    HadoopSettings.forgetOrigins(conf);
    assertEquals(value, conf.get(DEFAULT));
    assertNull(conf.getPropertySources(DEFAULT));
    assertTrue(sent(new Configuration(conf)) < before);
  }

  @Test
  void whoSetAnythingElseIsKnown() {
    Configuration conf = new Configuration();
    conf.set(DEFAULT, "1", "the user");
    HadoopSettings.forgetOrigins(conf);
    assertArrayEquals(new String[] {"the user"}, conf.getPropertySources(DEFAULT));
  }
}
