package millstream.barrier;

/** Receives, on the driver, how far event time has come. */
public interface HearsWatermarks {
  void watermark(long millis);
}
