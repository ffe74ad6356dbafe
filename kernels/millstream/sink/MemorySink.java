package millstream.sink;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;

/** Keeps what a sink received in the driver, by epoch, for tests. Two phases, as everywhere. */
public final class MemorySink implements SinkKind {
  private static final Map<String, Kept> ALL = new ConcurrentHashMap<>();

  private record Entry(byte[] key, byte[] value) implements java.io.Serializable {}

  private record Entries(ArrayList<Entry> entries) implements TaskWriter.Prepared {}

  private static final class Kept {
    final TreeMap<Long, List<Entry>> prepared = new TreeMap<>();
    final TreeMap<Long, List<Entry>> published = new TreeMap<>();
  }

  private static Kept kept(String place) {
    return ALL.computeIfAbsent(place, any -> new Kept());
  }

  /** What was published: {@code {"0": [[key, value], …], …}}, bytes in base 64; and forgets it. */
  public static String take(String place) {
    ObjectNode epochs = new ObjectMapper().createObjectNode();
    Kept kept = ALL.remove(place);
    if (kept != null) {
      synchronized (kept) {
        kept.published.forEach((epoch, entries) -> {
          ArrayNode listed = epochs.putArray(Long.toString(epoch));
          entries.forEach(entry -> listed.addArray().add(entry.key()).add(entry.value()));
        });
      }
    }
    return epochs.toString();
  }

  @Override
  public TaskWriter writer(SinkSpec spec, TaskId task) {
    return new Writer();
  }

  @Override
  public Committer committer(SinkSpec spec) {
    return new Keeper(kept(spec.setting("place")));
  }

  private static final class Writer implements TaskWriter {
    private final ArrayList<Entry> entries = new ArrayList<>();

    @Override
    public void write(byte[] key, byte[] value) {
      entries.add(new Entry(key, value));
    }

    @Override
    public Prepared prepare() {
      return new Entries(entries);
    }

    @Override
    public void abort() {
      entries.clear();
    }
  }

  private record Keeper(Kept kept) implements Committer {
    @Override
    public JsonNode prepared(long epoch, List<TaskWriter.Prepared> tasks) {
      List<Entry> all = new ArrayList<>();
      tasks.forEach(task -> all.addAll(((Entries) task).entries()));
      synchronized (kept) {
        kept.prepared.put(epoch, all);
      }
      return JsonNodeFactory.instance.objectNode();
    }

    @Override
    public void publish(long epoch, JsonNode prepared, Fence fence) {
      synchronized (kept) {
        List<Entry> ready = kept.prepared.remove(epoch);
        if (ready != null) {
          kept.published.put(epoch, ready);
        }
      }
    }

    @Override
    public void recover(long lastCommitted, long tenure, Fence fence) {
      synchronized (kept) {
        kept.prepared.clear();
      }
    }

    @Override
    public void discard(long from, long tenure) {
      synchronized (kept) {
        kept.prepared.tailMap(from).clear();
      }
    }
  }
}
