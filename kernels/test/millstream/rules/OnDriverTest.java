package millstream.rules;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import millstream.row.Rows;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.types.DataTypeUtils;
import org.apache.spark.sql.execution.LocalTableScanExec;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.types.StructType;
import org.junit.jupiter.api.Test;
import scala.Option;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

class OnDriverTest {
  private static final StructType TYPE = StructType.fromDDL("who STRING, n BIGINT");

  private static final Seq<Attribute> COLUMNS = columns();

  private static Seq<Attribute> columns() {
    List<Attribute> columns = new ArrayList<>();
    CollectionConverters.asJava(DataTypeUtils.toAttributes(TYPE)).forEach(columns::add);
    return CollectionConverters.asScala(columns).toSeq();
  }

  private static SparkPlan scan(int rows) {
    InternalRow row = Rows.of(TYPE, "somebody", 1L);
    Seq<InternalRow> all =
        CollectionConverters.asScala(Collections.nCopies(rows, row)).toSeq();
    return new LocalTableScanExec(COLUMNS, all, Option.empty(), false);
  }

  private static byte[] sent(SparkPlan plan) throws IOException {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try (ObjectOutputStream out = new ObjectOutputStream(bytes)) {
      out.writeObject(plan);
    }
    return bytes.toByteArray();
  }

  @Test
  void aTaskIsSentTheColumnsAndNothingOfThePlan() throws IOException, ClassNotFoundException {
    SparkPlan plan = new OnDriver(scan(1000));
    byte[] sent = sent(plan);
    assertEquals(sent(new OnDriver(scan(1))).length, sent.length);
    try (ObjectInputStream in = new ObjectInputStream(new ByteArrayInputStream(sent))) {
      SparkPlan received = (SparkPlan) in.readObject();
      assertEquals(plan.output(), received.output());
      assertTrue(received.children().isEmpty());
    }
  }

  @Test
  void onTheDriverItIsPartOfThePlanLikeAnyOther() {
    SparkPlan scan = scan(1);
    SparkPlan plan = new OnDriver(scan);
    assertSame(scan, plan.children().head());
    assertEquals(
        plan, plan.withNewChildren(CollectionConverters.asScala(List.of(scan)).toSeq()));
    assertEquals(scan.outputPartitioning(), plan.outputPartitioning());
    assertEquals(plan.canonicalized(), new OnDriver(scan).canonicalized());
    assertTrue(plan.treeString().contains("OnDriver"));
  }
}
