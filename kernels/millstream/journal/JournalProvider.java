package millstream.journal;

import java.util.Map;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableProvider;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.sources.DataSourceRegister;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** {@code spark.read.format("millstream-journal")}: a topic as a table, in batches, micro-batches and real time. */
public final class JournalProvider implements TableProvider, DataSourceRegister {
  @Override
  public String shortName() {
    return "millstream-journal";
  }

  @Override
  public StructType inferSchema(CaseInsensitiveStringMap options) {
    return RecordRow.SCHEMA;
  }

  @Override
  public Table getTable(StructType schema, Transform[] partitioning, Map<String, String> properties) {
    JournalOptions options = new JournalOptions(new CaseInsensitiveStringMap(properties));
    // A topic that is missing is told when the plan is built, not when it runs.
    options.open();
    return new JournalTable(options);
  }
}
