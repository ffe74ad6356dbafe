package millstream.barrier;

/** The sinks' side on the driver, where one may have to publish before its tasks can go on. */
public interface PublishesInTime {
  /** When all that is committed is published: the last epoch that is. -1: no sink waits for it. */
  long publishedBeforeNext();
}
