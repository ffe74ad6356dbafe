package millstream.join;

/** How a join takes changes: in steps that each give few rows. */
interface JoinSteps {
  /** The next step; false: there is none. */
  boolean advance();
}
