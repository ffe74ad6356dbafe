package millstream.operator;

/** An operator that may have a group that is called in every epoch, even if there are no rows for it. */
public interface Seeded {
  boolean seeded();

  /** Where the group's key is, which is the constant 0. */
  int keySlot();

  /** The payload column of its input. */
  int port();
}
