package millstream.aggregate;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.math.BigDecimal;
import java.math.MathContext;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import millstream.Seeds;
import millstream.row.Rows;
import millstream.state.MemoryHandle;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.types.StructType;
import org.junit.jupiter.api.Test;

final class SquaresTest {
  private static final StructType PAYLOAD = new Squares(0).state(new StructType());

  private static InternalRow row(double value, long weight) {
    return Rows.of(PAYLOAD, value, 0.0, 0.0, 0.0, 0.0, 0.0, 0L, weight);
  }

  /** The sum of squared distances from the mean, exactly. */
  private static BigDecimal distance(List<Double> values) {
    BigDecimal count = BigDecimal.valueOf(values.size());
    BigDecimal sum = values.stream().map(BigDecimal::new).reduce(BigDecimal.ZERO, BigDecimal::add);
    BigDecimal mean = sum.divide(count, new MathContext(400));
    return values.stream()
        .map(value -> new BigDecimal(value).subtract(mean).pow(2))
        .reduce(BigDecimal.ZERO, BigDecimal::add);
  }

  private static void assertClose(List<Double> values, Object result) {
    InternalRow found = (InternalRow) result;
    assertEquals(values.size(), found.getLong(0));
    double wanted = values.isEmpty() ? 0 : distance(values).doubleValue();
    assertTrue(Math.abs(found.getDouble(1) - wanted) <= 1e-9 * wanted, () -> found.getDouble(1) + ", not " + wanted);
  }

  @Test
  void isExactThoughMostIsTakenBackAndTheMeanIsFarAway() {
    Seeds.each(random -> {
      Figures figures = new Figures(new Squares(0), new MemoryHandle());
      List<Double> values = new ArrayList<>();
      double mean = Math.pow(10, random.nextInt(9));
      for (int epoch = 0; epoch < 50; epoch++) {
        for (int i = 0; i < 10; i++) {
          if (random.nextInt(3) == 0 && !values.isEmpty()) {
            figures.add(row(values.remove(random.nextInt(values.size())), -1), -1);
          } else {
            double value = mean + random.nextGaussian();
            values.add(value);
            figures.add(row(value, 1), 1);
          }
        }
        assertClose(values, figures.result());
        figures.endOfEpoch();
      }
    });
  }

  @Test
  void whatIsTakenBackLeavesNoTrace() {
    Figures figures = new Figures(new Squares(0), new MemoryHandle());
    figures.add(row(0.1, 3), 3);
    figures.add(row(1e30, 2), 2);
    figures.add(row(Double.NaN, 1), 1);
    figures.endOfEpoch();
    assertTrue(Double.isNaN(((InternalRow) figures.result()).getDouble(1)));
    figures.add(row(Double.NaN, -1), -1);
    figures.add(row(1e30, -2), -2);
    assertEquals(new GenericInternalRow(new Object[] {3L, 0.0}), figures.result());
  }

  @Test
  void zerosThatAreLeftHaveNoDistance() {
    Seeds.each(random -> {
      Figures figures = new Figures(new Squares(0), new MemoryHandle());
      List<Double> values = new ArrayList<>();
      for (int i = 0; i < 40; i++) {
        double value = Math.round((random.nextDouble() * 2000 - 1000) * 1000) / 1000.0;
        values.add(value);
        figures.add(row(value, 1), 1);
      }
      figures.add(row(0.0, 2), 2);
      figures.endOfEpoch();
      Collections.shuffle(values, random);
      for (double value : values) {
        figures.add(row(value, -1), -1);
      }
      assertEquals(new GenericInternalRow(new Object[] {2L, 0.0}), figures.result());
    });
  }

  @Test
  void mergedFiguresSayTheSameAsTheirRows() {
    Seeds.each(random -> {
      Figures whole = new Figures(new Squares(0), new MemoryHandle());
      List<Double> values = new ArrayList<>();
      for (int task = 0; task < 4; task++) {
        Accumulator part = new Squares(0).fresh();
        for (int i = 0; i < 20; i++) {
          double value = random.nextDouble() * 1e6;
          values.add(value);
          part.add(row(value, 1), 1);
        }
        Object[] merged = new Object[PAYLOAD.length()];
        part.save(merged);
        whole.add(Rows.of(PAYLOAD, merged), 1);
      }
      assertClose(values, whole.result());
    });
  }
}
