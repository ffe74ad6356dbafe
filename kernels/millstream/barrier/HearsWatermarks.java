package millstream.barrier;

/** What is told on the driver how far event time has come. */
public interface HearsWatermarks {
  void watermark(long millis);
}
