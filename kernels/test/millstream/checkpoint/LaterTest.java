package millstream.checkpoint;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.Closeable;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.execution.streaming.checkpointing.CheckpointFileManager.CancellableFSDataOutputStream;
import org.junit.jupiter.api.Test;

final class LaterTest {
  private static final Path FOLDER = new Path("file:/checkpoint/state/0/1");

  private static final class Recorded extends CancellableFSDataOutputStream {
    boolean closed;

    Recorded() {
      super(new ByteArrayOutputStream());
    }

    @Override
    public void close() {
      closed = true;
    }

    @Override
    public void cancel() {}
  }

  private static void closeOnAnotherThread(String path, Recorded file) {
    CompletableFuture.runAsync(() -> {
          try {
            Later.of(new Path(path), file).close();
          } catch (IOException error) {
            throw new UncheckedIOException(error);
          }
        })
        .join();
  }

  @Test
  void changesOfStateAndTheirChecksumsWaitWhicheverThreadClosesThem() throws IOException {
    Recorded changes = new Recorded();
    Recorded checksum = new Recorded();
    Recorded snapshot = new Recorded();
    Recorded elsewhere = new Recorded();
    List<Closeable> later = Collections.synchronizedList(new ArrayList<>());
    Later.collected(FOLDER, later, () -> {
      closeOnAnotherThread("/checkpoint/state/0/1/5_a.changelog", changes);
      closeOnAnotherThread("/checkpoint/state/0/1/5_a.changelog.crc", checksum);
      closeOnAnotherThread("/checkpoint/state/0/1/5_a.zip", snapshot);
      closeOnAnotherThread("/checkpoint/state/0/2/5_a.changelog", elsewhere);
      return null;
    });
    assertEquals(List.of(changes, checksum), later);
    assertFalse(changes.closed || checksum.closed);
    assertTrue(snapshot.closed && elsewhere.closed);
    for (Closeable file : later) {
      file.close();
    }
    assertTrue(changes.closed && checksum.closed);
  }

  @Test
  void otherwiseTheyAreClosedAtOnce() throws IOException {
    Recorded changes = new Recorded();
    Later.of(new Path(FOLDER, "5_a.changelog"), changes).close();
    assertTrue(changes.closed);
  }
}
