import java.io.File;
import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hdfs.MiniDFSCluster;

/** Hdfs FOLDER PORT READY: a name node and a data node on loopback, until killed. READY then holds the address. */
public class Hdfs {
  public static void main(String[] arguments) throws Exception {
    File folder = new File(arguments[0]).getAbsoluteFile();
    Configuration conf = new Configuration();
    conf.set(MiniDFSCluster.HDFS_MINIDFS_BASEDIR, folder.getPath());
    conf.set("dfs.namenode.rpc-bind-host", "127.0.0.1");
    conf.setInt("dfs.replication", 1);
    conf.setBoolean("dfs.permissions.enabled", false);
    boolean fresh = !new File(folder, "name-0-1").exists();
    MiniDFSCluster cluster = new MiniDFSCluster.Builder(conf)
        .nameNodePort(Integer.parseInt(arguments[1]))
        .numDataNodes(1)
        .format(fresh)
        .build();
    cluster.waitActive();
    Files.writeString(Path.of(arguments[2]), cluster.getFileSystem().getUri().toString());
    Thread.sleep(Long.MAX_VALUE);
  }
}
