package millstream.rules;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.StringSplitSQL;
import org.apache.spark.sql.catalyst.expressions.objects.StaticInvoke;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.types.AbstractDataType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.unsafe.types.UTF8String;
import scala.Option;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Splits by comparing bytes, for {@code split_part}. Spark makes a regular expression of the delimiter, again for every
 * row, and decodes and encodes the text for it.
 */
public final class PlainSplit extends Rewrite {
  @Override
  boolean concerns(Expression expression) {
    return expression instanceof StringSplitSQL split
        && split.str().dataType() instanceof StringType type
        && type.supportsBinaryEquality();
  }

  @Override
  Expression rewritten(Expression expression) {
    StringSplitSQL split = (StringSplitSQL) expression;
    return new StaticInvoke(
        PlainSplit.class,
        split.dataType(),
        "parts",
        CollectionConverters.asScala(List.of(split.str(), split.delimiter())).toSeq(),
        CollectionConverters.asScala(List.<AbstractDataType>of()).toSeq(),
        true,
        false,
        true,
        Option.empty());
  }

  /** Called by generated code. The parts share the text's bytes. */
  public static ArrayData parts(UTF8String text, UTF8String delimiter) {
    if (delimiter.numBytes() == 0 || !text.isValid() || !delimiter.isValid()) {
      return new GenericArrayData(text.splitSQL(delimiter, -1));
    }
    List<UTF8String> parts = new ArrayList<>();
    int begin = 0;
    for (int end = next(text, delimiter, 0); end >= 0; end = next(text, delimiter, begin)) {
      parts.add(slice(text, begin, end));
      begin = end + delimiter.numBytes();
    }
    parts.add(slice(text, begin, text.numBytes()));
    return new GenericArrayData(parts.toArray());
  }

  /** Where the delimiter is next, in bytes; -1 if nowhere. */
  private static int next(UTF8String text, UTF8String delimiter, int from) {
    byte first = delimiter.getByte(0);
    int last = text.numBytes() - delimiter.numBytes();
    for (int at = from; at <= last; at++) {
      if (text.getByte(at) == first && text.matchAt(delimiter, at)) {
        return at;
      }
    }
    return -1;
  }

  private static UTF8String slice(UTF8String text, int begin, int end) {
    return UTF8String.fromAddress(text.getBaseObject(), text.getBaseOffset() + begin, end - begin);
  }
}
