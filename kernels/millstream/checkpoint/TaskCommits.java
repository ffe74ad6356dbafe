package millstream.checkpoint;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import org.apache.spark.scheduler.AccumulableInfo;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerJobStart;
import org.apache.spark.scheduler.SparkListenerTaskEnd;
import org.apache.spark.scheduler.StageInfo;
import scala.jdk.javaapi.CollectionConverters;

/** Notes for each task that has ended how long it took to save its state. */
public final class TaskCommits extends SparkListener {
  private static final String SAVED = "time to commit changes";

  private String query;
  /** By Spark's stage, its epoch. */
  private final Map<Integer, Long> epochs = new HashMap<>();
  /** By epoch and Spark's stage; later ones are further from the sources. */
  private final TreeMap<Long, TreeMap<Integer, Map<Integer, Long>>> saved = new TreeMap<>();

  TaskCommits() {}

  synchronized void follow(String id) {
    query = id;
  }

  @Override
  public synchronized void onJobStart(SparkListenerJobStart start) {
    Properties told = start.properties();
    if (query == null || told == null || !query.equals(told.getProperty("sql.streaming.queryId"))) {
      return;
    }
    long epoch = Long.parseLong(told.getProperty("streaming.sql.batchId", "-1"));
    for (StageInfo stage : CollectionConverters.asJava(start.stageInfos())) {
      epochs.put(stage.stageId(), epoch);
    }
  }

  @Override
  public synchronized void onTaskEnd(SparkListenerTaskEnd end) {
    Long epoch = epochs.get(end.stageId());
    if (epoch == null || end.taskInfo() == null) {
      return;
    }
    for (AccumulableInfo part : CollectionConverters.asJava(end.taskInfo().accumulables())) {
      if (part.name().contains(SAVED) && part.update().isDefined()) {
        saved
            .computeIfAbsent(epoch, e -> new TreeMap<>())
            .computeIfAbsent(end.stageId(), s -> new TreeMap<>())
            .put(end.taskInfo().index(), ((Number) part.update().get()).longValue());
      }
    }
  }

  /** What has come of epochs up to this one; it is forgotten here. */
  synchronized Map<Long, List<History.Task>> taken(long last) {
    Map<Long, List<History.Task>> found = new TreeMap<>();
    Map<Long, TreeMap<Integer, Map<Integer, Long>>> done = saved.headMap(last, true);
    done.forEach((epoch, stages) -> {
      List<History.Task> tasks = new ArrayList<>();
      int number = 0;
      for (Map<Integer, Long> stage : stages.values()) {
        int place = number++;
        stage.forEach((task, millis) -> tasks.add(new History.Task(place, task, null, millis, null)));
      }
      found.put(epoch, tasks);
    });
    done.clear();
    epochs.values().removeIf(epoch -> epoch <= last);
    return found;
  }
}
