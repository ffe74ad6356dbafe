import com.palantir.javaformat.java.Formatter;
import com.palantir.javaformat.java.FormatterException;
import com.palantir.javaformat.java.JavaFormatterOptions;
import com.palantir.javaformat.java.JavaFormatterOptions.Style;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.reflect.Field;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import java.util.stream.Stream;

/** Formats Java files, and names those that it changed; with {@code --check} it changes none. */
final class Format {
  private static final int COLUMNS = 120;

  private Format() {}

  public static void main(String[] arguments) throws ReflectiveOperationException {
    boolean check = arguments[0].equals("--check");
    Formatter formatter = formatter();
    List<Path> changed = Stream.of(arguments)
        .skip(check ? 1 : 0)
        .parallel()
        .map(name -> changed(formatter, Path.of(name), check))
        .filter(Objects::nonNull)
        .toList();
    changed.forEach(System.out::println);
    System.exit(check && !changed.isEmpty() ? 1 : 0);
  }

  /** Indented by two, as wide as our Python; of its own it has two and 100, or four and 120. */
  private static Formatter formatter() throws ReflectiveOperationException {
    Field columns = Style.class.getDeclaredField("maxLineLength");
    columns.setAccessible(true);
    columns.set(Style.GOOGLE, COLUMNS);
    return Formatter.createFormatter(
        JavaFormatterOptions.builder().style(Style.GOOGLE).formatJavadoc(true).build());
  }

  /** NULL: it is as it should be. */
  private static Path changed(Formatter formatter, Path file, boolean check) {
    try {
      String before = Files.readString(file);
      String after = formatter.formatSourceAndFixImports(before);
      if (after.equals(before)) {
        return null;
      }
      if (!check) {
        Files.writeString(file, after);
      }
      return file;
    } catch (IOException error) {
      throw new UncheckedIOException(error);
    } catch (FormatterException error) {
      throw new IllegalArgumentException(file + ": " + error.getMessage(), error);
    }
  }
}
