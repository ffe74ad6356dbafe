package millstream.journal;

import java.lang.reflect.Field;
import java.lang.reflect.InaccessibleObjectException;
import java.util.Map;
import java.util.concurrent.ConcurrentMap;
import org.apache.hadoop.conf.Configuration;
import org.apache.spark.SparkContext;
import org.apache.spark.SparkEnv;
import org.apache.spark.deploy.SparkHadoopUtil;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Hadoop's settings as the running Spark has them, on the driver and on executors. */
public final class HadoopSettings {
  /** What we choose where the user has not. */
  private static final Map<String, String> CHOSEN = Map.of(
      // Spares the requests by which Hadoop makes an object store look like a tree of folders.
      "fs.s3a.performance.flags", "create,delete,mkdir",
      // A client asks again after this time whether a block is complete, and then after twice as long each time: with
      // Hadoop's 400 ms a small file takes as long. Twelve times are 20 s in all, as patient as Hadoop's own five.
      "dfs.client.block.write.locateFollowingBlock.initial.delay.ms", "5",
      "dfs.client.block.write.locateFollowingBlock.retries", "12");

  private static final Logger LOG = LoggerFactory.getLogger(HadoopSettings.class);
  private static final String DRIVER = "driver";
  private static Configuration ofExecutor;

  private HadoopSettings() {}

  public static Configuration conf() {
    SparkEnv spark = SparkEnv.get();
    if (spark == null) {
      return chosen(SparkHadoopUtil.get().conf());
    }
    return spark.executorId().equals(DRIVER)
        ? chosen(SparkContext.getOrCreate().hadoopConfiguration())
        : ofExecutor(spark);
  }

  private static synchronized Configuration ofExecutor(SparkEnv spark) {
    if (ofExecutor == null) {
      ofExecutor = chosen(SparkHadoopUtil.get().newConfiguration(spark.conf()));
    }
    return ofExecutor;
  }

  private static Configuration chosen(Configuration conf) {
    synchronized (conf) {
      CHOSEN.forEach((name, value) -> {
        if (isDefault(conf.getPropertySources(name))) {
          conf.set(name, value, "millstream");
        }
      });
    }
    return conf;
  }

  /**
   * Forgets that a default is one of Hadoop's. In each epoch Spark sends all settings to the tasks of every stage with
   * state, and compresses where each comes from by itself, a thousand times. Other origins stay known, which is what
   * Hadoop asks for.
   */
  public static void forgetOrigins(Configuration conf) {
    // Lets it read its files first, if it has not yet.
    conf.size();
    try {
      Field field = Configuration.class.getDeclaredField("updatingResource");
      field.setAccessible(true);
      if (field.get(conf) instanceof ConcurrentMap<?, ?> origins) {
        origins.values().removeIf(sources -> sources instanceof String[] names && isDefault(names));
      }
    } catch (NoSuchFieldException | IllegalAccessException | InaccessibleObjectException error) {
      LOG.info("Hadoop keeps origins elsewhere: epochs cost a little more", error);
    }
  }

  private static boolean isDefault(String[] sources) {
    return sources == null || sources.length == 0 || sources[sources.length - 1].endsWith("-default.xml");
  }
}
