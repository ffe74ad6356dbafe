package millstream.barrier;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.apache.spark.sql.connector.read.streaming.Offset;
import org.apache.spark.sql.connector.read.streaming.SparkDataStream;
import org.apache.spark.sql.connector.write.BatchWrite;
import org.apache.spark.sql.connector.write.WriterCommitMessage;
import org.apache.spark.sql.connector.write.streaming.StreamingWrite;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.datasources.v2.RealTimeStreamScanExec;
import org.apache.spark.sql.execution.datasources.v2.StreamWriterCommitProgress;
import org.apache.spark.sql.execution.datasources.v2.WriteToDataSourceV2Exec;
import org.apache.spark.sql.execution.exchange.ShuffleExchangeExec;
import org.apache.spark.sql.execution.metric.SQLMetric;
import org.apache.spark.sql.execution.streaming.checkpointing.OffsetSeqMetadata;
import org.apache.spark.sql.execution.streaming.checkpointing.OffsetSeqMetadataBase;
import org.apache.spark.sql.execution.streaming.checkpointing.OffsetSeqMetadataV2;
import org.apache.spark.sql.execution.streaming.operators.stateful.EventTimeStatsAccum;
import org.apache.spark.sql.execution.streaming.operators.stateful.EventTimeWatermarkExec;
import org.apache.spark.sql.execution.streaming.operators.stateful.StateStoreWriter;
import org.apache.spark.sql.execution.streaming.operators.stateful.StatefulOpStateStoreCheckpointInfo;
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.TransformWithStateExec;
import org.apache.spark.sql.execution.streaming.runtime.MicroBatchExecution;
import org.apache.spark.sql.execution.streaming.runtime.MicroBatchExecutionContext;
import org.apache.spark.sql.execution.streaming.runtime.WatermarkTracker;
import org.apache.spark.sql.execution.streaming.sources.MicroBatchWrite;
import org.apache.spark.sql.internal.connector.PartitionOffsetWithIndex;
import org.apache.spark.sql.streaming.TimeMode;
import org.apache.spark.util.AccumulatorContext;
import scala.Option;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.AbstractFunction0;
import scala.runtime.AbstractFunction1;
import scala.runtime.BoxedUnit;

/**
 * A query whose batch does not end, in which every barrier leaves behind what a batch would.
 *
 * <p>At the end of a batch Spark looks for what tasks have said in accumulators of its plan. Here they are filled with
 * what tasks report for a barrier, and Spark does the rest: it logs offsets and state, and commits.
 */
final class SparkEpochs {
  private final MicroBatchExecution query;
  private final SparkPlan plan;
  /** By source. */
  private final Map<String, RealTimeStreamScanExec> scans = new HashMap<>();

  private final Map<Long, StateStoreWriter> states = new HashMap<>();
  private final List<HearsWatermarks> hearing = new ArrayList<>();
  private final List<EventTimeWatermarkExec> times = new ArrayList<>();
  private boolean timed;
  private StreamingWrite write;
  private int sources;
  private int tasks;
  private int writers;
  private MicroBatchExecutionContext epoch;
  private long begun;

  /** When its tasks run. */
  SparkEpochs(MicroBatchExecution query) {
    this.query = query;
    epoch = (MicroBatchExecutionContext) query.getLatestExecutionContext();
    begun = epoch.offsetSeqMetadata().batchTimestampMs();
    plan = epoch.executionPlan().executedPlan();
    plan.foreach(new AbstractFunction1<SparkPlan, BoxedUnit>() {
      @Override
      public BoxedUnit apply(SparkPlan node) {
        note(node);
        return BoxedUnit.UNIT;
      }
    });
    writers = shuffles == 0 ? sources : lastShuffle;
  }

  private int shuffles;
  private int lastShuffle;

  /** From the sinks down: the first shuffle is the last that rows pass. */
  private void note(SparkPlan node) {
    if (node instanceof RealTimeStreamScanExec scan) {
      scans.put(((BarrierStream) scan.stream()).id(), scan);
      sources += scan.inputPartitions().size();
      tasks += scan.inputPartitions().size();
    } else if (node instanceof ShuffleExchangeExec shuffle) {
      int partitions = shuffle.outputPartitioning().numPartitions();
      lastShuffle = shuffles++ == 0 ? partitions : lastShuffle;
      tasks += partitions;
    } else if (node instanceof WriteToDataSourceV2Exec writing) {
      BatchWrite batch = writing.batchWrite();
      write = ((MicroBatchWrite) batch).writeSupport();
    }
    if (node instanceof StateStoreWriter state) {
      states.put(state.getStateInfo().operatorId(), state);
    }
    if (node instanceof TransformWithStateExec stage
        && (Object) stage.statefulProcessor() instanceof HearsWatermarks hears) {
      hearing.add(hears);
      timed |= stage.timeMode().equals(TimeMode.EventTime());
    }
    if (node instanceof EventTimeWatermarkExec time) {
      times.add(time);
    }
  }

  /** The epoch that the next barrier ends. */
  long number() {
    return epoch.batchId();
  }

  /** How many tasks there are, and so how many report. */
  int tasks() {
    return tasks;
  }

  /** How many of them read a source. */
  int sources() {
    return sources;
  }

  /** Whether a source has partitions that no task reads. Asked between two epochs. */
  boolean outgrown() {
    return scans.values().stream().anyMatch(scan -> {
      Option<Offset> read = epoch.startOffsets().get(scan.stream());
      return read.isDefined()
          && ((BarrierStream) scan.stream()).partitions(read.get())
              > scan.inputPartitions().size();
    });
  }

  /** The last epoch that is published, if a sink must publish before it goes on; otherwise -1. */
  long published() {
    return write instanceof PublishesInTime waits ? waits.publishedBeforeNext() : -1;
  }

  /** Whether a stage has timers by event time. */
  boolean timed() {
    return timed;
  }

  /**
   * How far event time has come, including what tasks have reported since the last barrier. What is logged when an
   * epoch is committed goes by their acks alone: a report may come from rows behind the barrier, which will be read
   * again.
   */
  long watermark(Endpoint told, IdleSources idle) {
    WatermarkTracker tracker = query.watermarkTracker();
    Map<UUID, Long> said = new HashMap<>();
    Map<UUID, Long> quiet = new HashMap<>();
    long current;
    synchronized (tracker) {
      current = tracker.currentWatermark();
      var known = CollectionConverters.asJava(tracker.watermarkMap());
      if (known.size() != times.size()) {
        return current;
      }
      for (EventTimeWatermarkExec node : times) {
        Option<Object> logged = known.get(node.nodeId());
        Long now = told.times().get(node.eventTimeStats().id());
        long least = logged == null || logged.isEmpty() ? 0 : (Long) logged.get();
        said.put(node.nodeId(), Math.max(least, now == null ? 0 : now - node.delayMs()));
        Long silent = quiet(node, told);
        if (silent != null) {
          quiet.put(node.nodeId(), silent);
        }
      }
    }
    if (idle != null && idle.rests()) {
      return Math.max(current, idle.now(quiet, said));
    }
    return said.values().stream()
        .min(Long::compare)
        .map(least -> Math.max(current, least))
        .orElse(current);
  }

  /** For how long there was no row of the source whose time it is; NULL: that is not known. */
  private static Long quiet(EventTimeWatermarkExec node, Endpoint told) {
    for (SparkPlan leaf : CollectionConverters.asJava(node.collectLeaves())) {
      if (leaf instanceof RealTimeStreamScanExec scan) {
        return told.quiet(
            ((BarrierStream) scan.stream()).id(), scan.inputPartitions().size());
      }
    }
    return null;
  }

  /** The time on the clock for rows of the epoch that runs: that of the barrier before it. */
  long begun() {
    return begun;
  }

  long clock() {
    return query.triggerClock().getTimeMillis();
  }

  /** What a barrier carries is in the log of its epoch. */
  void begin(Barrier barrier) {
    OffsetSeqMetadataBase before = epoch.offsetSeqMetadata();
    boolean second = epoch.offsetLogFormatVersionOpt().contains(2);
    epoch.offsetSeqMetadata_$eq(
        second
            ? OffsetSeqMetadataV2.apply(
                barrier.watermark(),
                barrier.clock(),
                before.conf(),
                OffsetSeqMetadataV2.apply$default$4(),
                OffsetSeqMetadataV2.apply$default$5())
            : OffsetSeqMetadata.apply(barrier.watermark(), barrier.clock(), before.conf()));
    begun = barrier.clock();
    hear(barrier);
  }

  void hear(Barrier barrier) {
    hearing.forEach(stage -> stage.watermark(barrier.watermark()));
  }

  /** All tasks have reported: prepares, logs offsets, decides. */
  void commit(List<Ack> acks) {
    scans.values().forEach(scan -> scan.endOffsetsAccumulator().reset());
    states.values().forEach(state -> state.checkpointInfoAccumulator().reset());
    WriterCommitMessage[] prepared = new WriterCommitMessage[writers];
    long written = 0;
    for (Ack ack : acks) {
      fill(ack);
      if (ack.written() != null) {
        prepared[ack.partition()] = ack.written().prepared();
        written += ack.written().rows();
      }
    }
    write.commit(number(), prepared);
    long rows = written;
    query.withProgressLocked(new AbstractFunction0<BoxedUnit>() {
      @Override
      public BoxedUnit apply() {
        epoch.sinkCommitProgress_$eq(Option.apply(new StreamWriterCommitProgress(rows)));
        query.markMicroBatchEnd(epoch);
        return BoxedUnit.UNIT;
      }
    });
  }

  private void fill(Ack ack) {
    if (ack.read() != null) {
      scans
          .get(ack.read().source())
          .endOffsetsAccumulator()
          .add(new PartitionOffsetWithIndex(ack.partition(), ack.read().at()));
    }
    ack.times()
        .forEach((id, time) -> ((EventTimeStatsAccum) AccumulatorContext.get(id).get()).add(time));
    if (ack.state() != null) {
      var info = ack.state().info();
      StateStoreWriter state = states.get(ack.state().operator());
      state
          .checkpointInfoAccumulator()
          .add(new StatefulOpStateStoreCheckpointInfo(
              info.partitionId(), info.batchVersion(), ids(info.stateStoreCkptId()), ids(info.baseStateStoreCkptId())));
    }
  }

  /** The stage of the job that a task's state belongs to, counted from the sources; Spark counts from the sinks. */
  int stage(Ack ack) {
    return states.size() - 1 - (int) ack.state().operator();
  }

  private static Option<String[]> ids(Option<String> id) {
    return id.isEmpty() ? Option.empty() : Option.apply(new String[] {id.get()});
  }

  /** Reports the epoch, and goes on to the next. */
  void end(List<Ack> acks, long barrierMillis) {
    measure(acks);
    epoch.reportTimeTaken("barrier", barrierMillis);
    epoch.reportTimeTaken("triggerExecution", clock() - epoch.getStartTime());
    epoch.finishTrigger(true, rows(acks), epoch.executionPlan(), number());
    MicroBatchExecutionContext next = epoch.getNextContext();
    epoch.onExecutionComplete();
    epoch = next;
    epoch.startTrigger();
    query.setLatestExecutionContext(epoch);
    long keep = number() - query.minLogEntriesToMaintain();
    if (keep > 0) {
      query.purge(keep);
    }
  }

  private scala.collection.immutable.Map<SparkDataStream, Object> rows(List<Ack> acks) {
    Map<SparkDataStream, Object> found = new HashMap<>();
    scans.forEach((source, scan) -> {
      long sum = 0;
      for (Ack ack : acks) {
        sum += ack.read() != null && ack.read().source().equals(source)
            ? ack.read().rows()
            : 0;
      }
      found.put(scan.stream(), sum);
    });
    return scala.collection.immutable.Map$.MODULE$.from(CollectionConverters.asScala(found));
  }

  /** What Spark says about state when an epoch has ended. */
  private void measure(List<Ack> acks) {
    states.forEach((operator, state) -> {
      long rows = 0;
      long memory = 0;
      long files = 0;
      for (Ack ack : acks) {
        if (ack.state() != null && ack.state().operator() == operator) {
          rows += ack.state().rows();
          memory += ack.state().memory();
          files += ack.state().files();
        }
      }
      set((SparkPlan) state, "numTotalStateRows", rows);
      set((SparkPlan) state, "stateMemory", memory);
      set((SparkPlan) state, "rocksdbSstFileSize", files);
    });
  }

  private static void set(SparkPlan node, String name, long value) {
    Option<SQLMetric> metric = node.metrics().get(name);
    if (metric.isDefined()) {
      metric.get().set(value);
    }
  }
}
