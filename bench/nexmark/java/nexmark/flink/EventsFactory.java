package nexmark.flink;

import java.util.Set;
import nexmark.EventLog;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.configuration.ConfigOption;
import org.apache.flink.configuration.ConfigOptions;
import org.apache.flink.connector.datagen.source.DataGeneratorSource;
import org.apache.flink.table.connector.ChangelogMode;
import org.apache.flink.table.connector.source.DynamicTableSource;
import org.apache.flink.table.connector.source.ScanTableSource;
import org.apache.flink.table.connector.source.SourceProvider;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.factories.DynamicTableSourceFactory;
import org.apache.flink.table.factories.FactoryUtil;
import org.apache.flink.table.types.DataType;
import org.apache.flink.table.types.logical.RowType;

/** The file of events as a table of Flink: {@code 'connector' = 'nexmark-events', 'folder' = …}. */
public final class EventsFactory implements DynamicTableSourceFactory {
  private static final ConfigOption<String> FOLDER =
      ConfigOptions.key("folder").stringType().noDefaultValue();
  private static final ConfigOption<Integer> SUBTASKS =
      ConfigOptions.key("subtasks").intType().defaultValue(2);

  @Override
  public String factoryIdentifier() {
    return "nexmark-events";
  }

  @Override
  public Set<ConfigOption<?>> requiredOptions() {
    return Set.of(FOLDER);
  }

  @Override
  public Set<ConfigOption<?>> optionalOptions() {
    return Set.of(SUBTASKS);
  }

  @Override
  public DynamicTableSource createDynamicTableSource(Context context) {
    FactoryUtil.TableFactoryHelper helper = FactoryUtil.createTableFactoryHelper(this, context);
    helper.validate();
    String folder = helper.getOptions().get(FOLDER);
    return new Events(folder, helper.getOptions().get(SUBTASKS), context.getPhysicalRowDataType());
  }

  private record Events(String folder, int subtasks, DataType type) implements ScanTableSource {
    @Override
    public ChangelogMode getChangelogMode() {
      return ChangelogMode.insertOnly();
    }

    @Override
    public ScanRuntimeProvider getScanRuntimeProvider(ScanContext context) {
      long events = EventLog.events(folder);
      TypeInformation<RowData> info = context.createTypeInformation(type);
      EventRows rows = new EventRows(folder, events, subtasks, (RowType) type.getLogicalType());
      return SourceProvider.of(new DataGeneratorSource<>(rows, events, info));
    }

    @Override
    public DynamicTableSource copy() {
      return this;
    }

    @Override
    public String asSummaryString() {
      return "nexmark events";
    }
  }
}
