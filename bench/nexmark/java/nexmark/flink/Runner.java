package nexmark.flink;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.runtime.minicluster.MiniCluster;
import org.apache.flink.runtime.minicluster.MiniClusterConfiguration;
import org.apache.flink.table.api.EnvironmentSettings;
import org.apache.flink.table.api.TableEnvironment;
import org.apache.flink.table.api.TableResult;
import org.apache.flink.types.Row;
import org.apache.flink.util.CloseableIterator;

/**
 * A cluster that stays, for one script after the other. Each line of the input names one: {@code run FILE}, or
 * {@code collect FILE OUT}, which writes the changes of the script's last query as rows {@code op TAB fields}, or
 * {@code start FILE}, whose last query is ended by {@code stop}. The answer is a line: {@code done}, or {@code failed}
 * and why. A script may begin with settings: {@code SET name=value}.
 */
public final class Runner {
  private static final String END = ";\n";

  private final Configuration settings;
  private TableResult started;

  private Runner(Configuration settings) {
    this.settings = settings;
  }

  public static void main(String[] args) throws Exception {
    Configuration settings = new Configuration();
    for (String arg : args) {
      settings.setString(arg.substring(0, arg.indexOf('=')), arg.substring(arg.indexOf('=') + 1));
    }
    int slots = Integer.parseInt(settings.getString("taskmanager.numberOfTaskSlots", "2"));
    MiniClusterConfiguration shape = new MiniClusterConfiguration.Builder()
        .setConfiguration(settings)
        .setNumTaskManagers(1)
        .setNumSlotsPerTaskManager(slots)
        .build();
    try (MiniCluster cluster = new MiniCluster(shape)) {
      cluster.start();
      settings.setString("execution.target", "remote");
      settings.setString("rest.address", cluster.getRestAddress().get().getHost());
      settings.setString(
          "rest.port", Integer.toString(cluster.getRestAddress().get().getPort()));
      new Runner(settings).serve();
    }
    System.exit(0);
  }

  private void serve() throws IOException {
    BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
    System.out.println("ready");
    for (String line = lines.readLine(); line != null; line = lines.readLine()) {
      String[] words = line.split(" ");
      try {
        if (words[0].equals("stop")) {
          started.getJobClient().orElseThrow().cancel().get();
        } else {
          boolean waits = !words[0].equals("start");
          script(Files.readString(Path.of(words[1])), words[0].equals("collect") ? Path.of(words[2]) : null, waits);
        }
        System.out.println("done");
      } catch (Exception error) {
        error.printStackTrace();
        Throwable cause = error;
        while (cause.getCause() != null) {
          cause = cause.getCause();
        }
        System.out.println("failed " + String.valueOf(cause).replace('\n', ' '));
      }
    }
  }

  private void script(String text, Path out, boolean waits) throws Exception {
    TableEnvironment tables = TableEnvironment.create(EnvironmentSettings.newInstance()
        .inStreamingMode()
        .withConfiguration(settings)
        .build());
    String[] statements = text.split(END);
    for (int i = 0; i < statements.length; i++) {
      String statement = statements[i].strip();
      if (statement.isEmpty()) {
        continue;
      }
      if (statement.startsWith("SET ")) {
        String[] setting = statement.substring(4).split("=");
        tables.getConfig().set(setting[0], setting[1]);
        continue;
      }
      TableResult result = tables.executeSql(statement);
      boolean last = i == statements.length - 1;
      if (last && out != null) {
        write(result, out);
      } else if (last && !waits) {
        started = result;
      } else {
        result.await();
      }
    }
  }

  private static void write(TableResult result, Path out) throws Exception {
    try (CloseableIterator<Row> rows = result.collect();
        PrintWriter file = new PrintWriter(Files.newBufferedWriter(out))) {
      while (rows.hasNext()) {
        Row row = rows.next();
        StringBuilder line = new StringBuilder(row.getKind().shortString());
        for (int i = 0; i < row.getArity(); i++) {
          line.append('\t').append(row.getField(i));
        }
        file.println(line);
      }
    }
  }
}
