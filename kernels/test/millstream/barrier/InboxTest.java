package millstream.barrier;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;

import java.util.concurrent.Semaphore;
import millstream.row.Rows;
import org.apache.spark.sql.types.StructType;
import org.junit.jupiter.api.Test;

/** Where a reader finds what tasks of the same process sent it. */
final class InboxTest {
  private static final StructType TYPE = StructType.fromDDL("n INT");

  private final Semaphore room = new Semaphore(100);

  /** A row that takes 40 of the room. */
  private Arrival.Row row(int n) {
    room.acquireUninterruptibly(40);
    return new Arrival.Row(0, Rows.of(TYPE, n), 40, room);
  }

  private static int taken(Inbox inbox) throws InterruptedException {
    Arrival.Row found = (Arrival.Row) inbox.poll(0);
    found.release();
    return found.row().getInt(0);
  }

  @Test
  void aWriterFindsTheReaderOfItsShuffleUntilThatHasEnded() {
    Inbox inbox = Inbox.open(7, 1);
    assertSame(inbox, Inbox.of(7, 1));
    assertNull(Inbox.of(7, 0), "another reader");
    assertNull(Inbox.of(8, 1), "another shuffle");
    inbox.close();
    assertNull(Inbox.of(7, 1));
  }

  @Test
  void aReaderThatEndsDoesNotTakeItsSuccessorAway() {
    Inbox before = Inbox.open(7, 2);
    Inbox after = Inbox.open(7, 2);
    before.close();
    assertSame(after, Inbox.of(7, 2));
    after.close();
  }

  @Test
  void rowsComeInTheirOrderAndGiveTheirRoomBackWhenTheyAreDoneWith() throws InterruptedException {
    Inbox inbox = Inbox.open(7, 3);
    inbox.add(row(1));
    inbox.add(row(2));
    assertEquals(20, room.availablePermits());
    assertEquals(1, taken(inbox));
    assertEquals(2, taken(inbox));
    assertEquals(100, room.availablePermits());
    assertNull(inbox.poll(0));
    inbox.close();
  }

  @Test
  void whatComesForAReaderThatHasEndedIsGivenUpSoThatItsWriterIsNotHeldUp() throws InterruptedException {
    Inbox inbox = Inbox.open(7, 4);
    inbox.add(row(1));
    inbox.close();
    inbox.add(row(2));
    assertEquals(100, room.availablePermits());
    assertNull(inbox.poll(0));
  }
}
