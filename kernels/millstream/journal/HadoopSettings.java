package millstream.journal;

import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.spark.SparkContext;
import org.apache.spark.SparkEnv;
import org.apache.spark.deploy.SparkHadoopUtil;

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

  private static boolean isDefault(String[] sources) {
    return sources == null || sources.length == 0 || sources[sources.length - 1].endsWith("-default.xml");
  }
}
