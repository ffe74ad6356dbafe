package millstream.decode;

import org.apache.spark.sql.catalyst.InternalRow;

/** Reads a record's value into the columns of its schema. The row is only good until the next is read. */
interface Values {
  InternalRow parse(byte[] bytes, String what) throws Undecodable;
}
