package millstream.save;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.Closeable;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Collectors;
import org.apache.spark.sql.SparkSession;

/**
 * Saves the state of a job at the end of one epoch, as lists of rows by operator, in one pass over its stores.
 *
 * <p>First every store is opened, which brings its files to this machine: what a running job deletes after that does no
 * harm. Then they are read, some at the same time.
 */
public final class Saving implements Closeable {
  private static final ObjectMapper JSON = new ObjectMapper();

  private record Store(int stage, SavedStore store) {}

  private final List<Store> stores = new ArrayList<>();
  private final Map<Integer, List<SavedList>> lists = new TreeMap<>();
  private final AtomicLong rows = new AtomicLong();
  private final ExecutorService threads;

  private final boolean all;

  private Saving(boolean all) {
    this.all = all;
    this.threads = Executors.newFixedThreadPool(Runtime.getRuntime().availableProcessors(), task -> {
      Thread thread = new Thread(task, "millstream-savepoint");
      thread.setDaemon(true);
      return thread;
    });
  }

  /**
   * Opens the state of an epoch.
   *
   * @param told the lists that are to be saved
   * @param ranges how many files a list is divided into
   * @param all whether these are all lists: then state that is in none of them is an error
   */
  public static Saving open(SparkSession spark, String checkpoint, long epoch, String told, int ranges, boolean all)
      throws IOException {
    Saving saving = new Saving(all);
    try {
      Map<Integer, List<ListSpec>> specs = ListSpec.parse(told).stream()
          .collect(Collectors.groupingBy(ListSpec::stage, TreeMap::new, Collectors.toList()));
      for (Map.Entry<Integer, List<ListSpec>> stage : specs.entrySet()) {
        saving.add(StageState.of(spark, checkpoint, epoch, stage.getKey()), stage.getKey(), stage.getValue(), ranges);
      }
      saving.each(SavedStore::open);
      return saving;
    } catch (IOException | RuntimeException error) {
      saving.close();
      throw error;
    }
  }

  private void add(StageState state, int stage, List<ListSpec> specs, int ranges) {
    List<SavedList> own =
        specs.stream().map(spec -> new SavedList(spec, state, ranges)).toList();
    lists.put(stage, own);
    for (int partition = 0; partition < state.partitions(); partition++) {
      stores.add(new Store(stage, new SavedStore(state, partition, own, all, rows)));
    }
  }

  /** How many entries were read so far. */
  public long rows() {
    return rows.get();
  }

  /** How many entries each task of a stage has, once all were read, as JSON. */
  public String shares() {
    ArrayNode out = JSON.createArrayNode();
    for (Store one : stores) {
      out.addObject().put("stage", one.stage).put("task", one.store.partition()).put("rows", one.store.count());
    }
    return out.toString();
  }

  /** Writes all lists; what was written, as JSON. */
  public String write() throws IOException {
    each(SavedStore::read);
    ArrayNode out = JSON.createArrayNode();
    for (List<SavedList> stage : lists.values()) {
      for (SavedList list : stage) {
        out.add(described(list));
      }
    }
    return out.toString();
  }

  private static ObjectNode described(SavedList list) throws IOException {
    ObjectNode out = JSON.createObjectNode()
        .put("operator", list.spec.operator())
        .put("name", list.spec.name())
        .put("kind", list.spec.kind())
        .put("type", list.type.json());
    ArrayNode files = out.putArray("files");
    for (SavedList.Part part : list.close()) {
      files.add(SavedFile.described(part));
    }
    return out.put("rows", list.count()).put("fingerprint", String.format("%016x", list.fingerprint()));
  }

  private interface Work {
    void at(SavedStore store) throws IOException;
  }

  private void each(Work work) throws IOException {
    List<Callable<Void>> tasks = stores.stream()
        .<Callable<Void>>map(one -> () -> {
          work.at(one.store);
          return null;
        })
        .toList();
    try {
      for (Future<Void> done : threads.invokeAll(tasks)) {
        done.get();
      }
    } catch (ExecutionException error) {
      throw error.getCause() instanceof IOException io ? io : new IOException(error.getCause());
    } catch (InterruptedException error) {
      Thread.currentThread().interrupt();
      throw new IOException("interrupted", error);
    }
  }

  @Override
  public void close() throws IOException {
    threads.shutdownNow();
    for (Store one : stores) {
      one.store.close();
    }
    lists.values().forEach(stage -> stage.forEach(SavedList::abandon));
  }
}
