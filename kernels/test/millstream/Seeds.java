package millstream;

import java.util.Random;
import java.util.function.Consumer;

/**
 * Random cases: one seed is always the same, one is new with every run, or {@code MILLSTREAM_SEED}; both are printed.
 */
public final class Seeds {
  private static final String GIVEN = System.getenv("MILLSTREAM_SEED");
  private static final long NEW = GIVEN == null ? new Random().nextInt(1_000_000) : Long.parseLong(GIVEN);

  static {
    System.out.println("seeds of random Java tests: 1 and " + NEW + "; repeat them with MILLSTREAM_SEED=" + NEW);
  }

  private Seeds() {}

  public static void each(Consumer<Random> test) {
    for (long seed : new long[] {1, NEW}) {
      try {
        test.accept(new Random(seed));
      } catch (AssertionError | RuntimeException error) {
        throw new AssertionError("with seed " + seed + ": " + error.getMessage(), error);
      }
    }
  }
}
