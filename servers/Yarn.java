import java.io.Writer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.server.MiniYARNCluster;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.fifo.FifoScheduler;

/**
 * Yarn HDFS MACHINES MEGABYTES SITE: a resource manager and node managers on loopback, until killed. They take what
 * containers need from HDFS. SITE is then the yarn-site.xml of those who want to speak to them.
 */
public class Yarn {
  public static void main(String[] arguments) throws Exception {
    YarnConfiguration conf = new YarnConfiguration();
    conf.set("fs.defaultFS", arguments[0]);
    conf.setInt(YarnConfiguration.NM_PMEM_MB, Integer.parseInt(arguments[2]));
    conf.setInt(YarnConfiguration.RM_SCHEDULER_MINIMUM_ALLOCATION_MB, 128);
    conf.setClass(YarnConfiguration.RM_SCHEDULER, FifoScheduler.class, Object.class);
    conf.setBoolean(YarnConfiguration.NM_VMEM_CHECK_ENABLED, false);
    conf.setBoolean(YarnConfiguration.NM_PMEM_CHECK_ENABLED, false);
    conf.setBoolean(YarnConfiguration.NM_DISK_HEALTH_CHECK_ENABLE, false);
    // What containers have of the node manager's own variables: where a machine finds Java and programs, and its address.
    conf.set(YarnConfiguration.NM_ENV_WHITELIST, "JAVA_HOME,PATH,SPARK_LOCAL_IP");
    MiniYARNCluster cluster = new MiniYARNCluster("yarn", Integer.parseInt(arguments[1]), 1, 1);
    cluster.init(conf);
    cluster.start();
    if (!cluster.waitForNodeManagersToConnect(60_000)) {
      throw new IllegalStateException("the node managers did not come");
    }
    Path site = Path.of(arguments[3]);
    Path part = site.resolveSibling("part");
    try (Writer writer = Files.newBufferedWriter(part)) {
      addresses(cluster.getConfig()).writeXml(writer);
    }
    Files.move(part, site);
    Thread.sleep(Long.MAX_VALUE);
  }

  /** What a client's own yarn-site.xml says. */
  private static Configuration addresses(Configuration all) {
    Configuration few = new Configuration(false);
    for (Map.Entry<String, String> setting : all) {
      if (setting.getKey().matches("yarn\\.resourcemanager\\..*address")) {
        few.set(setting.getKey(), all.get(setting.getKey()));
      }
    }
    few.setBoolean("yarn.timeline-service.enabled", false);
    return few;
  }
}
