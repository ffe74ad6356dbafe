package millstream.barrier;

/** The sinks' side on the driver, where a sink may have to publish before its tasks can continue. */
public interface PublishesInTime {
  /** Waits until all that is committed is published: the last published epoch. -1: no sink waits for it. */
  long publishedBeforeNext();
}
