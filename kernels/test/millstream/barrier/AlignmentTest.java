package millstream.barrier;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import millstream.Seeds;
import org.junit.jupiter.api.Test;

class AlignmentTest {
  private static final int ROUNDS = 20_000;

  /** A message of a writer: its place among those of the same writer, and the barrier, if it is one. */
  private record Message(int writer, int place, Barrier.Sent barrier) {}

  private static final Alignment.Reading<Message> READING = new Alignment.Reading<>() {
    @Override
    public int writer(Message message) {
      return message.writer();
    }

    @Override
    public Barrier.Sent barrier(Message message) {
      return message.barrier();
    }
  };

  private static Barrier barrier(long number) {
    return new Barrier(number, number, number % 3 == 0, 10 * number, 20 * number, -1);
  }

  /** What a writer sends: between barriers, any number of messages. */
  private static ArrayDeque<Message> sent(int writer, int writers, int barriers, Random random) {
    ArrayDeque<Message> all = new ArrayDeque<>();
    for (int number = 0; number <= barriers; number++) {
      for (int rows = random.nextInt(4); rows > 0; rows--) {
        all.add(new Message(writer, all.size(), null));
      }
      if (number < barriers) {
        all.add(new Message(writer, all.size(), new Barrier.Sent(barrier(number), writers)));
      }
    }
    return all;
  }

  /** Any order in which the messages of each writer stay in theirs; NULL where nothing comes for a while. */
  private static ArrayDeque<Message> interleaved(List<ArrayDeque<Message>> writers, Random random) {
    ArrayDeque<Message> all = new ArrayDeque<>();
    List<ArrayDeque<Message>> left = new ArrayList<>();
    writers.forEach(one -> left.add(new ArrayDeque<>(one)));
    // Now and then one writer is far behind the others.
    int slow = random.nextInt(2 * writers.size());
    while (left.stream().anyMatch(one -> !one.isEmpty())) {
      int next = random.nextInt(left.size());
      if (next == slow && random.nextInt(20) > 0 && othersHave(left, slow)) {
        continue;
      }
      if (!left.get(next).isEmpty()) {
        all.add(left.get(next).poll());
      }
    }
    return all;
  }

  private static boolean othersHave(List<ArrayDeque<Message>> left, int slow) {
    for (int i = 0; i < left.size(); i++) {
      if (i != slow && !left.get(i).isEmpty()) {
        return true;
      }
    }
    return false;
  }

  @Test
  void everyBarrierPartsTheMessagesOfAllWriters() {
    Seeds.each(AlignmentTest::interleaveAndJudge);
  }

  private static void interleaveAndJudge(Random random) {
    for (int round = 0; round < ROUNDS; round++) {
      int barriers = random.nextInt(5);
      List<ArrayDeque<Message>> writers = new ArrayList<>();
      int count = 1 + random.nextInt(4);
      for (int writer = 0; writer < count; writer++) {
        writers.add(sent(writer, count, barriers, random));
      }
      judge(writers, interleaved(writers, random), barriers, random);
    }
  }

  private static void judge(
      List<ArrayDeque<Message>> writers, ArrayDeque<Message> arrivals, int barriers, Random random) {
    Alignment<Message> alignment = new Alignment<>(READING);
    int passed = 0;
    while (passed < barriers || !arrivals.isEmpty() || left(writers)) {
      // Sometimes there is nothing at first.
      Message found = next(alignment, () -> random.nextInt(5) == 0 ? null : arrivals.poll());
      if (found != null) {
        Message expected = writers.get(found.writer()).poll();
        assertEquals(expected, found, "a message is lost, comes twice, or in another order, or before its barrier");
      } else if (alignment.aligned() != null) {
        for (ArrayDeque<Message> writer : writers) {
          Message next = writer.poll();
          assertEquals(barrier(passed), next.barrier().barrier(), "a message is left that was sent before the barrier");
        }
        assertEquals(barrier(passed++), alignment.aligned());
        assertNull(next(alignment, arrivals::poll), "nothing comes before the barrier is passed");
        alignment.passed();
      }
    }
    assertNull(alignment.aligned());
  }

  private static Message next(Alignment<Message> alignment, Alignment.Arrivals<Message> arrivals) {
    try {
      return alignment.next(arrivals);
    } catch (InterruptedException error) {
      throw new IllegalStateException(error);
    }
  }

  private static boolean left(List<ArrayDeque<Message>> writers) {
    return writers.stream().anyMatch(one -> !one.isEmpty());
  }

  @Test
  void writersThatSendDifferentBarriersAreRefused() {
    Alignment<Message> alignment = new Alignment<>(READING);
    ArrayDeque<Message> arrivals = new ArrayDeque<>();
    arrivals.add(new Message(0, 0, new Barrier.Sent(barrier(1), 2)));
    arrivals.add(new Message(1, 0, new Barrier.Sent(barrier(2), 2)));
    assertThrows(IllegalStateException.class, () -> alignment.next(arrivals::poll));
  }

  @Test
  void whatIsHeldIsGivenUpOnce() throws InterruptedException {
    Alignment<Message> alignment = new Alignment<>(READING);
    ArrayDeque<Message> arrivals = new ArrayDeque<>();
    arrivals.add(new Message(0, 0, new Barrier.Sent(barrier(1), 2)));
    arrivals.add(new Message(0, 1, null));
    assertNull(alignment.next(arrivals::poll));
    List<Message> released = new ArrayList<>();
    alignment.drain(released::add);
    alignment.drain(released::add);
    assertEquals(List.of(new Message(0, 1, null)), released);
  }

  @Test
  void aBarrierIsReadAsItWasWritten() {
    for (long number = 0; number < 6; number++) {
      Barrier.Sent sent = new Barrier.Sent(barrier(number), 7);
      assertEquals(sent, Barrier.Sent.read(ByteBuffer.wrap(sent.bytes())));
    }
    assertNull(Barrier.Sent.read(ByteBuffer.wrap(new byte[] {0, 0, 0, 8, 1, 2, 3, 4, 5, 6, 7, 8})));
  }
}
