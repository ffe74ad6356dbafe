package millstream.rabbitmq;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.ToLongFunction;
import org.apache.spark.sql.connector.read.InputPartition;

/** Which offsets streams have, and what a reader's options mean. */
record Offsets(StreamOptions options, StreamEnds ends) {
  StreamOffset starting() {
    String starting = options.starting();
    if (starting.equals("earliest")) {
      return of(ends::first);
    }
    if (starting.equals("latest")) {
      return end();
    }
    if (!starting.startsWith("{")) {
      return of(stream -> ends.at(stream, Long.parseLong(starting)));
    }
    StreamOffset asked = StreamOffset.parse(starting);
    return of(stream -> asked.names(stream) ? asked.of(stream) : ends.first(stream));
  }

  StreamOffset end() {
    return of(ends::end);
  }

  private StreamOffset of(ToLongFunction<String> find) {
    Map<String, Long> found = new TreeMap<>();
    options.streams().forEach(stream -> found.put(stream, find.applyAsLong(stream)));
    return new StreamOffset(found);
  }

  /** An error if records that are to be read have been deleted. */
  void check(StreamOffset start) {
    for (String stream : options.streams()) {
      long first = ends.first(stream);
      if (first > start.of(stream) && start.names(stream) && !options.skips()) {
        throw RabbitException.lost(stream, start.of(stream), first);
      }
    }
  }

  InputPartition[] between(StreamOffset start, StreamOffset end) {
    List<InputPartition> found = new ArrayList<>();
    for (int number = 0; number < options.streams().size(); number++) {
      String stream = options.streams().get(number);
      if (end.of(stream) > start.of(stream)) {
        found.add(new StreamReader.Range(options, number, start.of(stream), end.of(stream)));
      }
    }
    return found.toArray(InputPartition[]::new);
  }

  InputPartition[] after(StreamOffset start) {
    InputPartition[] found = new InputPartition[options.streams().size()];
    for (int number = 0; number < found.length; number++) {
      long from = start.of(options.streams().get(number));
      found[number] = new StreamReader.Range(options, number, from, Long.MAX_VALUE);
    }
    return found;
  }
}
