package millstream.barrier;

import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.List;
import org.apache.spark.SparkConf;
import org.apache.spark.sql.SparkSession;

/** The places in Spark that barriers hook into. They are not part of its interface, and may move. */
public final class Hooks {
  /** The setting that lets barriers through the shuffle. It can only be made when Spark starts. */
  public static final String SETTING = "spark.shuffle.manager.incremental";

  private record Hook(String type, String... methods) {}

  private static final String STREAMING = "org.apache.spark.sql.execution.streaming.";
  private static final List<Hook> ALL = List.of(
      new Hook(
          "org.apache.spark.shuffle.streaming.StreamingShuffleReader",
          "messageQueue",
          "errorNotifier",
          "terminationAckControlMessageSet"),
      new Hook(
          "org.apache.spark.shuffle.streaming.StreamingShuffleWriter", "shards", "errorNotifier", "allAcksReceived"),
      new Hook("org.apache.spark.shuffle.streaming.StreamingShuffleWriter$ShardState", "hasClient", "send", "close"),
      new Hook(
          "org.apache.spark.sql.execution.datasources.v2.RealTimeStreamScanExec",
          "inputPartitions",
          "endOffsetsAccumulator"),
      new Hook("org.apache.spark.sql.execution.datasources.v2.WriteToDataSourceV2Exec", "batchWrite"),
      new Hook(STREAMING + "sources.MicroBatchWrite", "writeSupport"),
      new Hook(STREAMING + "state.RocksDBStateStoreProvider$RocksDBStateStore", "dbInstance"),
      new Hook(STREAMING + "state.RocksDB", "commit", "load", "metricsOpt"),
      new Hook(STREAMING + "operators.stateful.StateStoreWriter", "checkpointInfoAccumulator"),
      new Hook(
          STREAMING + "operators.stateful.transformwithstate.timers.TimerStateImpl",
          "getExpiredTimers",
          "getExpiredTimersReusable"),
      new Hook(STREAMING + "runtime.MicroBatchExecutionContext", "getNextContext", "finishTrigger", "startTrigger"),
      new Hook(
          STREAMING + "runtime.MicroBatchExecution",
          "markMicroBatchEnd",
          "withProgressLocked",
          "setLatestExecutionContext",
          "watermarkTracker",
          "purge"));

  private Hooks() {}

  /** Why barriers cannot flow in this session; NULL: they can. */
  public static String missing(SparkSession session) {
    SparkConf settings = session.sparkContext().getConf();
    if (!BarrierShuffle.class.getName().equals(settings.get(SETTING, ""))) {
      return "the session lacks a setting: make it with .config(\"" + SETTING + "\", \""
          + BarrierShuffle.class.getName() + "\")";
    }
    if (settings.getBoolean("spark.speculation", false)) {
      return "the session has spark.speculation, by which a task may run twice";
    }
    for (Hook hook : ALL) {
      for (String method : hook.methods()) {
        if (!has(hook.type(), method)) {
          return "this version of Spark has no " + hook.type() + "." + method;
        }
      }
    }
    return null;
  }

  private static boolean has(String type, String method) {
    try {
      Method[] all = Class.forName(type, false, Hooks.class.getClassLoader()).getMethods();
      return Arrays.stream(all).anyMatch(one -> one.getName().equals(method));
    } catch (ClassNotFoundException missing) {
      return false;
    }
  }
}
