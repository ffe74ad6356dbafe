package millstream.process;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import millstream.row.InternalRowEncoder;
import millstream.state.Values;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.streaming.ListState;
import org.apache.spark.sql.streaming.MapState;
import org.apache.spark.sql.streaming.StatefulProcessorHandle;
import org.apache.spark.sql.streaming.TTLConfig;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import scala.Tuple2;

/**
 * The state of a Python process: the rows of values of many keys, and the lists and maps of the key that is set.
 *
 * <pre>
 *   _row      one row: which lists and maps hold anything, timers, and every value variable
 *   a list    its items, each with the time at which it expires
 *   a map     its entries, likewise
 * </pre>
 *
 * <p>What is small goes to Python with the rows of its key; of a large list or map, Python asks for what it needs.
 */
public final class ProcessState implements Serializable {
  private static final long serialVersionUID = 1L;
  /** Lists and maps with up to this many items are handed over whole. */
  private static final int SMALL = 64;

  private static final StructType NAMELESS = new StructType();

  private final StructType values;
  private final String[] lists;
  private final StructType[] items;
  private final String[] maps;
  private final StructType[] mapKeys;
  private final StructType[] mapValues;

  private transient Values valueRows;
  private transient List<ListState<InternalRow>> listStates;
  private transient List<MapState<InternalRow, InternalRow>> mapStates;

  /** A list: its name, and the type of its items as JSON. */
  public record ListTold(String name, String item) {}

  /** A map: its name, and the types of its keys and values as JSON. */
  public record MapTold(String name, String key, String value) {}

  ProcessState(String values, List<ListTold> lists, List<MapTold> maps) {
    this.values = struct(values);
    this.lists = lists.stream().map(ListTold::name).toArray(String[]::new);
    this.items = lists.stream().map(told -> struct(told.item)).toArray(StructType[]::new);
    this.maps = maps.stream().map(MapTold::name).toArray(String[]::new);
    this.mapKeys = maps.stream().map(told -> struct(told.key)).toArray(StructType[]::new);
    this.mapValues = maps.stream().map(told -> struct(told.value)).toArray(StructType[]::new);
  }

  static StructType struct(String json) {
    return (StructType) DataType.fromJson(json);
  }

  void open(StatefulProcessorHandle handle, String name) {
    valueRows = new Values(handle, name + "_row", values);
    listStates = new ArrayList<>();
    for (int i = 0; i < lists.length; i++) {
      listStates.add(
          handle.getListState(name + "_state_" + lists[i], new InternalRowEncoder(items[i]), TTLConfig.NONE()));
    }
    mapStates = new ArrayList<>();
    for (int i = 0; i < maps.length; i++) {
      mapStates.add(handle.getMapState(
          name + "_state_" + maps[i],
          new InternalRowEncoder(mapKeys[i]),
          new InternalRowEncoder(mapValues[i]),
          TTLConfig.NONE()));
    }
  }

  /** The columns that hold the state of a key on its way to Python. */
  StructType sent() {
    StructType type = NAMELESS.add("values", values);
    for (int i = 0; i < lists.length; i++) {
      type = type.add("l" + i, DataTypes.createArrayType(items[i]));
    }
    for (int i = 0; i < maps.length; i++) {
      type = type.add("m" + i, DataTypes.createArrayType(entry(i)));
    }
    return type;
  }

  /** Key and value of a map side by side. */
  StructType entry(int map) {
    StructType type = mapKeys[map];
    for (var field : mapValues[map].fields()) {
      type = type.add(field);
    }
    return type;
  }

  StructType item(int list) {
    return items[list];
  }

  StructType mapKey(int map) {
    return mapKeys[map];
  }

  int lists() {
    return lists.length;
  }

  int maps() {
    return maps.length;
  }

  /** Whether it has anything but values. */
  boolean hasCollections() {
    return lists.length + maps.length > 0;
  }

  /** The rows of values of many keys. */
  Values values() {
    return valueRows;
  }

  /**
   * Puts the state of the key that is set into a row's columns from {@code at} on. {@code kept}: its row of values, or
   * NULL. NULL in a column: too large to hand over.
   */
  void read(InternalRow kept, Object[] row, int at) {
    row[at] = kept;
    long filled = kept == null ? 0 : kept.getLong(0);
    for (int i = 0; i < lists.length; i++) {
      row[at + 1 + i] = (filled >> i & 1) == 0 ? array(List.of()) : small(list(i));
    }
    for (int i = 0; i < maps.length; i++) {
      boolean empty = (filled >> (lists.length + i) & 1) == 0;
      row[at + 1 + lists.length + i] = empty ? array(List.of()) : small(entries(i));
    }
  }

  private static ArrayData small(Iterator<InternalRow> rows) {
    List<Object> found = new ArrayList<>();
    while (rows.hasNext()) {
      if (found.size() == SMALL) {
        return null;
      }
      found.add(rows.next());
    }
    return array(found);
  }

  private static ArrayData array(List<Object> rows) {
    return new GenericArrayData(rows.toArray());
  }

  Iterator<InternalRow> list(int list) {
    scala.collection.Iterator<InternalRow> rows = listStates.get(list).get();
    return new Mapped<>(rows, InternalRow::copy);
  }

  Iterator<InternalRow> entries(int map) {
    scala.collection.Iterator<Tuple2<InternalRow, InternalRow>> rows =
        mapStates.get(map).iterator();
    return new Mapped<>(rows, pair -> joined(map, pair._1(), pair._2()));
  }

  /** The entry of a map's key; NULL: there is none. */
  InternalRow entry(int map, InternalRow key) {
    InternalRow value = mapStates.get(map).getValue(key);
    return value == null ? null : joined(map, key, value);
  }

  private InternalRow joined(int map, InternalRow key, InternalRow value) {
    Object[] parts = new Object[1 + mapValues[map].length()];
    parts[0] = key.copy().get(0, mapKeys[map].fields()[0].dataType());
    InternalRow copy = value.copy();
    for (int i = 1; i < parts.length; i++) {
      DataType type = mapValues[map].fields()[i - 1].dataType();
      parts[i] = copy.isNullAt(i - 1) ? null : copy.get(i - 1, type);
    }
    return new GenericInternalRow(parts);
  }

  /** The columns in which Python tells what it changed. */
  StructType changed() {
    StructType type = NAMELESS.add("written", DataTypes.BooleanType).add("values", values);
    for (int i = 0; i < lists.length; i++) {
      StructType change = NAMELESS.add("clear", DataTypes.BooleanType).add("add", DataTypes.createArrayType(items[i]));
      type = type.add("l" + i, change);
    }
    for (int i = 0; i < maps.length; i++) {
      StructType change = NAMELESS
          .add("clear", DataTypes.BooleanType)
          .add("put", DataTypes.createArrayType(entry(i)))
          .add("remove", DataTypes.createArrayType(mapKeys[i]));
      type = type.add("m" + i, change);
    }
    return type;
  }

  /** Writes what Python changed of a key, which stands in a row's columns from {@code at} on. */
  void apply(UnsafeRow key, InternalRow row, int at) {
    if (row.getBoolean(at)) {
      if (row.isNullAt(at + 1)) {
        valueRows.remove(key);
      } else {
        valueRows.put(key, row.getStruct(at + 1, values.length()));
      }
    }
    for (int i = 0; i < lists.length; i++) {
      if (!row.isNullAt(at + 2 + i)) {
        applyList(i, row.getStruct(at + 2 + i, 2));
      }
    }
    for (int i = 0; i < maps.length; i++) {
      if (!row.isNullAt(at + 2 + lists.length + i)) {
        applyMap(i, row.getStruct(at + 2 + lists.length + i, 3));
      }
    }
  }

  private void applyList(int list, InternalRow change) {
    ListState<InternalRow> state = listStates.get(list);
    ArrayData added = change.getArray(1);
    InternalRow[] rows = new InternalRow[added.numElements()];
    for (int i = 0; i < rows.length; i++) {
      rows[i] = added.getStruct(i, items[list].length());
    }
    if (change.getBoolean(0)) {
      state.clear();
    }
    if (rows.length > 0) {
      state.appendList(rows);
    }
  }

  private void applyMap(int map, InternalRow change) {
    MapState<InternalRow, InternalRow> state = mapStates.get(map);
    if (change.getBoolean(0)) {
      state.clear();
    }
    ArrayData removed = change.getArray(2);
    for (int i = 0; i < removed.numElements(); i++) {
      state.removeKey(removed.getStruct(i, 1));
    }
    ArrayData put = change.getArray(1);
    int width = 1 + mapValues[map].length();
    for (int i = 0; i < put.numElements(); i++) {
      InternalRow entry = put.getStruct(i, width);
      Object[] value = new Object[width - 1];
      for (int j = 0; j < value.length; j++) {
        DataType type = mapValues[map].fields()[j].dataType();
        value[j] = entry.isNullAt(j + 1) ? null : entry.get(j + 1, type);
      }
      Object key = entry.get(0, mapKeys[map].fields()[0].dataType());
      state.updateValue(new GenericInternalRow(new Object[] {key}), new GenericInternalRow(value));
    }
  }

  /** A Scala iterator as Java's, each item changed on the way. */
  private static final class Mapped<A> implements Iterator<InternalRow> {
    private final scala.collection.Iterator<A> rows;
    private final java.util.function.Function<A, InternalRow> change;

    Mapped(scala.collection.Iterator<A> rows, java.util.function.Function<A, InternalRow> change) {
      this.rows = rows;
      this.change = change;
    }

    @Override
    public boolean hasNext() {
      return rows.hasNext();
    }

    @Override
    public InternalRow next() {
      return change.apply(rows.next());
    }
  }
}
