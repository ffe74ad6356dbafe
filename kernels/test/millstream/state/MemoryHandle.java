package millstream.state;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.NavigableSet;
import java.util.TreeMap;
import java.util.TreeSet;
import millstream.row.Rows;
import org.apache.spark.sql.Encoder;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.streaming.ListState;
import org.apache.spark.sql.streaming.MapState;
import org.apache.spark.sql.streaming.QueryInfo;
import org.apache.spark.sql.streaming.StatefulProcessorHandle;
import org.apache.spark.sql.streaming.TTLConfig;
import org.apache.spark.sql.streaming.ValueState;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.ByteArray;
import scala.Tuple2;
import scala.jdk.javaapi.CollectionConverters;

/**
 * State and timers in memory, for tests. Rows go in and out as bytes, maps are in the order of their keys' bytes, and
 * what an iterator gives is overwritten by its next step: as with RocksDB.
 */
public final class MemoryHandle implements StatefulProcessorHandle {
  private static final long serialVersionUID = 1L;

  private final transient Map<String, NavigableSet<Long>> timers = new HashMap<>();
  private final transient Map<String, Map<String, ?>> variables = new HashMap<>();
  private String key = "";

  /** The key whose state is meant from now on. */
  public void key(String now) {
    key = now;
  }

  /** The timers of the key, in order. */
  public NavigableSet<Long> timers() {
    return timers.computeIfAbsent(key, none -> new TreeSet<>());
  }

  /** How many of a variable's rows are kept of the key. */
  public int size(String variable) {
    Object kept = variables.get(variable).get(key);
    return kept instanceof Map<?, ?> map ? map.size() : kept == null ? 0 : 1;
  }

  @Override
  public void registerTimer(long at) {
    timers().add(at);
  }

  @Override
  public void deleteTimer(long at) {
    if (!timers().remove(at)) {
      throw new IllegalStateException("there is no timer at " + at);
    }
  }

  @Override
  public scala.collection.Iterator<Object> listTimers() {
    return CollectionConverters.asScala(List.<Object>copyOf(timers()).iterator());
  }

  @Override
  @SuppressWarnings("unchecked") // All state of kernels is of rows.
  public <T> ValueState<T> getValueState(String name, Encoder<T> encoder, TTLConfig ttl) {
    Map<String, UnsafeRow> kept = new HashMap<>();
    variables.put(name, kept);
    return (ValueState<T>) new Value(kept, encoder.schema());
  }

  @Override
  @SuppressWarnings("unchecked") // All state of kernels is of rows.
  public <K, V> MapState<K, V> getMapState(String name, Encoder<K> keys, Encoder<V> values, TTLConfig ttl) {
    Map<String, TreeMap<UnsafeRow, UnsafeRow>> kept = new HashMap<>();
    variables.put(name, kept);
    return (MapState<K, V>) new Entries(kept, keys.schema(), values.schema());
  }

  private final class Value implements ValueState<InternalRow> {
    private static final long serialVersionUID = 1L;
    private final transient Map<String, UnsafeRow> kept;
    private final StructType type;

    Value(Map<String, UnsafeRow> kept, StructType type) {
      this.kept = kept;
      this.type = type;
    }

    @Override
    public boolean exists() {
      return kept.containsKey(key);
    }

    @Override
    public InternalRow get() {
      UnsafeRow found = kept.get(key);
      return found == null ? null : found.copy();
    }

    @Override
    public void update(InternalRow row) {
      kept.put(key, Rows.own(type, row));
    }

    @Override
    public void clear() {
      kept.remove(key);
    }
  }

  private final class Entries implements MapState<InternalRow, InternalRow> {
    private static final long serialVersionUID = 1L;
    private final transient Map<String, TreeMap<UnsafeRow, UnsafeRow>> kept;
    private final StructType keyType;
    private final StructType valueType;

    Entries(Map<String, TreeMap<UnsafeRow, UnsafeRow>> kept, StructType keyType, StructType valueType) {
      this.kept = kept;
      this.keyType = keyType;
      this.valueType = valueType;
    }

    private TreeMap<UnsafeRow, UnsafeRow> entries() {
      return kept.computeIfAbsent(
          key, none -> new TreeMap<>((one, other) -> ByteArray.compareBinary(one.getBytes(), other.getBytes())));
    }

    @Override
    public boolean exists() {
      return !entries().isEmpty();
    }

    @Override
    public InternalRow getValue(InternalRow at) {
      UnsafeRow found = entries().get(Rows.own(keyType, at));
      return found == null ? null : found.copy();
    }

    @Override
    public boolean containsKey(InternalRow at) {
      return entries().containsKey(Rows.own(keyType, at));
    }

    @Override
    public void updateValue(InternalRow at, InternalRow value) {
      entries().put(Rows.own(keyType, at), Rows.own(valueType, value));
    }

    @Override
    public scala.collection.Iterator<Tuple2<InternalRow, InternalRow>> iterator() {
      List<UnsafeRow> keys = new ArrayList<>(entries().keySet());
      List<UnsafeRow> values = new ArrayList<>(entries().values());
      UnsafeRow oneKey = new UnsafeRow(keyType.length());
      UnsafeRow oneValue = new UnsafeRow(valueType.length());
      return new scala.collection.AbstractIterator<>() {
        private int next;

        @Override
        public boolean hasNext() {
          return next < keys.size();
        }

        @Override
        public Tuple2<InternalRow, InternalRow> next() {
          byte[] at = keys.get(next).copy().getBytes();
          byte[] value = values.get(next++).copy().getBytes();
          oneKey.pointTo(at, at.length);
          oneValue.pointTo(value, value.length);
          return new Tuple2<>(oneKey, oneValue);
        }
      };
    }

    @Override
    public scala.collection.Iterator<InternalRow> keys() {
      throw unused();
    }

    @Override
    public scala.collection.Iterator<InternalRow> values() {
      throw unused();
    }

    @Override
    public void removeKey(InternalRow at) {
      entries().remove(Rows.own(keyType, at));
    }

    @Override
    public void clear() {
      kept.remove(key);
    }
  }

  @Override
  public <T> ValueState<T> getValueState(String name, TTLConfig ttl, Encoder<T> encoder) {
    return getValueState(name, encoder, ttl);
  }

  @Override
  public <K, V> MapState<K, V> getMapState(String name, TTLConfig ttl, Encoder<K> keys, Encoder<V> values) {
    return getMapState(name, keys, values, ttl);
  }

  @Override
  public <T> ListState<T> getListState(String name, Encoder<T> encoder, TTLConfig ttl) {
    throw unused();
  }

  @Override
  public <T> ListState<T> getListState(String name, TTLConfig ttl, Encoder<T> encoder) {
    throw unused();
  }

  @Override
  public QueryInfo getQueryInfo() {
    throw unused();
  }

  @Override
  public void deleteIfExists(String name) {
    throw unused();
  }

  private static UnsupportedOperationException unused() {
    return new UnsupportedOperationException("no kernel uses this");
  }
}
