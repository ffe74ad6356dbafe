package nexmark.flink;

import java.util.Collection;
import java.util.List;
import java.util.Set;
import org.apache.flink.configuration.ConfigOption;
import org.apache.flink.table.connector.source.DynamicTableSource;
import org.apache.flink.table.connector.source.LookupTableSource;
import org.apache.flink.table.connector.source.lookup.LookupFunctionProvider;
import org.apache.flink.table.data.GenericRowData;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.data.StringData;
import org.apache.flink.table.factories.DynamicTableSourceFactory;
import org.apache.flink.table.functions.FunctionContext;
import org.apache.flink.table.functions.LookupFunction;

/** The side table of q13, in memory: {@code key BIGINT, `value` STRING}, 10,000 rows. */
public final class SideFactory implements DynamicTableSourceFactory {
  static final int ROWS = 10_000;

  @Override
  public String factoryIdentifier() {
    return "nexmark-side";
  }

  @Override
  public Set<ConfigOption<?>> requiredOptions() {
    return Set.of();
  }

  @Override
  public Set<ConfigOption<?>> optionalOptions() {
    return Set.of();
  }

  @Override
  public DynamicTableSource createDynamicTableSource(Context context) {
    return new Side();
  }

  private static final class Side implements LookupTableSource {
    @Override
    public LookupRuntimeProvider getLookupRuntimeProvider(LookupContext context) {
      return LookupFunctionProvider.of(new Find());
    }

    @Override
    public DynamicTableSource copy() {
      return new Side();
    }

    @Override
    public String asSummaryString() {
      return "nexmark side table";
    }
  }

  public static final class Find extends LookupFunction {
    private static final long serialVersionUID = 1L;
    private transient List<RowData>[] rows;

    @Override
    @SuppressWarnings("unchecked")
    public void open(FunctionContext context) {
      rows = new List[ROWS];
      for (long key = 0; key < ROWS; key++) {
        rows[(int) key] = List.of(GenericRowData.of(key, StringData.fromString("value-" + key)));
      }
    }

    @Override
    public Collection<RowData> lookup(RowData key) {
      long number = key.getLong(0);
      return number >= 0 && number < ROWS ? rows[(int) number] : List.of();
    }
  }
}
