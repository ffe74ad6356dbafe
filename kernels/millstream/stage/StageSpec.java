package millstream.stage;

import static java.util.Map.entry;

import java.util.List;
import java.util.Map;
import java.util.function.BiFunction;
import millstream.aggregate.Aggregate;
import millstream.join.AsOf;
import millstream.join.CountedJoin;
import millstream.join.Enrich;
import millstream.join.Join;
import millstream.operator.Operator;
import millstream.operator.OperatorSpec;
import millstream.operator.Told;
import millstream.process.Process;
import millstream.rank.Dedup;
import millstream.rank.Top;
import millstream.row.Image;
import millstream.row.Layout;
import millstream.table.Collapse;
import millstream.table.Upserts;
import millstream.window.Hopping;
import millstream.window.LateRows;
import millstream.window.Sessions;
import millstream.window.Sliding;
import org.apache.spark.sql.SparkSession;

/** The kinds of operators, by the names under which the lowering asks for them, and the record that each is told. */
final class StageSpec {
  private record Kind<T>(Class<T> told, BiFunction<OperatorSpec, T, Operator> make) {
    Operator operator(OperatorSpec spec) {
      return make.apply(spec, spec.told().as(told));
    }
  }

  private static final Map<String, Kind<?>> KINDS = Map.ofEntries(
      entry("aggregate", new Kind<>(Aggregate.Told.class, Aggregate::new)),
      entry("as_of", new Kind<>(AsOf.Told.class, AsOf::new)),
      entry("collapse", new Kind<>(Collapse.Told.class, Collapse::new)),
      entry("counted_join", new Kind<>(CountedJoin.Told.class, CountedJoin::new)),
      entry("dedup", new Kind<>(Dedup.Told.class, Dedup::of)),
      entry("enrich", new Kind<>(Enrich.Told.class, Enrich::new)),
      entry("hopping", new Kind<>(Hopping.Told.class, Hopping::new)),
      entry("join", new Kind<>(Join.Told.class, Join::new)),
      entry("late_rows", new Kind<>(LateRows.Told.class, LateRows::new)),
      entry("latest", new Kind<>(Upserts.Told.class, Upserts::new)),
      entry("top", new Kind<>(Top.Told.class, Top::of)),
      entry("pass", new Kind<>(PassThrough.Told.class, PassThrough::new)),
      entry("sessions", new Kind<>(Sessions.Told.class, Sessions::new)),
      entry("sliding", new Kind<>(Sliding.Told.class, Sliding::new)),
      entry("process", new Kind<>(Process.Told.class, Process::new)));

  private StageSpec() {}

  static Operator[] operators(String json, Layout layout, SparkSession spark) {
    List<Told> all = Told.all(json);
    Operator[] operators = new Operator[all.size()];
    for (int i = 0; i < operators.length; i++) {
      operators[i] = kind(all.get(i)).operator(new OperatorSpec(all.get(i), layout, spark));
      operators[i].follows(all.get(i).follows());
      operators[i].readers(images(all.get(i), operators[i], spark));
    }
    return operators;
  }

  private static Image[] images(Told told, Operator operator, SparkSession spark) {
    Image[] images = new Image[told.images().size()];
    for (int i = 0; i < images.length; i++) {
      String sql = told.images().get(i);
      images[i] = sql == null ? null : Image.of(spark, sql, operator.outputType());
    }
    return images.length == 0 ? null : images;
  }

  /** What an operator is told, read into the record of its kind. */
  static Record record(Told told) {
    return (Record) told.as(kind(told).told());
  }

  /** All kinds that there are. */
  static List<String> kinds() {
    return KINDS.keySet().stream().sorted().toList();
  }

  private static Kind<?> kind(Told told) {
    Kind<?> kind = KINDS.get(told.kind());
    if (kind == null) {
      throw new IllegalArgumentException("no operator of kind " + told.kind());
    }
    return kind;
  }
}
