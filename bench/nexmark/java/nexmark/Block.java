package nexmark;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;

/** A block of events as it is in the file: columns, of which rows only say where they are. */
public final class Block {
  public static final int EVENTS = 1000;
  public static final int ROUND = 50;
  public static final int AUCTIONS = 3;
  public static final int BIDS = 46;

  /** The columns before those of each kind: persons have 8, auctions 10. */
  static final int[] FIRST_COLUMN = {0, 8, 18};

  private static final VarHandle LONGS = MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);
  private static final VarHandle INTS = MethodHandles.byteArrayViewVarHandle(int[].class, ByteOrder.LITTLE_ENDIAN);
  private static final int[] ROWS = {EVENTS / ROUND, EVENTS / ROUND * AUCTIONS, EVENTS / ROUND * BIDS};

  public final byte[] bytes;

  Block(byte[] bytes) {
    this.bytes = bytes;
  }

  /** 0: a person, 1: an auction, 2: a bid. */
  public static int kind(int event) {
    int place = event % ROUND;
    return place == 0 ? 0 : place <= AUCTIONS ? 1 : 2;
  }

  /** The place of an event among those of its kind. */
  public static int row(int event) {
    int round = event / ROUND;
    int place = event % ROUND;
    return place == 0 ? round : place <= AUCTIONS ? round * AUCTIONS + place - 1 : round * BIDS + place - 1 - AUCTIONS;
  }

  private int start(int kind, int column) {
    return (int) INTS.get(bytes, 4 * (FIRST_COLUMN[kind] + column));
  }

  public long number(int kind, int column, int row) {
    return (long) LONGS.get(bytes, start(kind, column) + 8 * row);
  }

  /** Where a text begins; its length is {@link #length}. */
  public int text(int kind, int column, int row) {
    int start = start(kind, column);
    return start + 4 * (ROWS[kind] + 1) + (int) INTS.get(bytes, start + 4 * row);
  }

  public int length(int kind, int column, int row) {
    int at = start(kind, column) + 4 * row;
    return (int) INTS.get(bytes, at + 4) - (int) INTS.get(bytes, at);
  }
}
