package millstream.join;

/** Which rows a join sends: pairs of partners, and rows by themselves because they have a partner or have none. */
enum How {
  INNER,
  LEFT,
  RIGHT,
  FULL,
  SEMI,
  ANTI;

  boolean pairs() {
    return this != SEMI && this != ANTI;
  }

  /** Whether rows of a side are sent by themselves, now or when they lose or find partners. */
  boolean single(int side) {
    return switch (this) {
      case INNER -> false;
      case LEFT, SEMI, ANTI -> side == 0;
      case RIGHT -> side == 1;
      case FULL -> true;
    };
  }

  /** How much of a row's weight is sent by itself. */
  long single(int side, long weight, boolean matched) {
    return single(side) && matched == (this == SEMI) ? weight : 0;
  }
}
