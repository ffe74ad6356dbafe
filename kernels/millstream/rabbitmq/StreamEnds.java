package millstream.rabbitmq;

import com.rabbitmq.stream.Constants;
import com.rabbitmq.stream.OffsetSpecification;
import com.rabbitmq.stream.StreamException;
import com.rabbitmq.stream.impl.Client;
import com.rabbitmq.stream.impl.Client.ClientParameters;
import com.rabbitmq.stream.impl.Client.Response;
import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/**
 * Where streams begin and end. Servers before RabbitMQ 4 cannot say: the first and last chunks do, which are requested
 * one at a time.
 */
final class StreamEnds implements AutoCloseable {
  /** Milliseconds to wait for a chunk that must be there. */
  private static final long PATIENCE = 30_000;
  /** Milliseconds for a chunk to get from the connection's thread to this one, when it has come. */
  private static final long HANDED_OVER = 1_000;

  private record Chunk(byte subscription, long offset, long records) {}

  private final StreamOptions options;
  private final LinkedBlockingQueue<Chunk> chunks = new LinkedBlockingQueue<>();
  private final Set<String> filled = new HashSet<>();
  private Client client;
  private byte subscription;

  StreamEnds(StreamOptions options) {
    this.options = options;
  }

  /** The offset of the first record that is there; 0 of an empty stream. */
  synchronized long first(String stream) {
    Chunk chunk = look(stream, OffsetSpecification.first());
    return chunk == null ? 0 : chunk.offset;
  }

  /** The offset behind the last record that is there. */
  synchronized long end(String stream) {
    Chunk chunk = look(stream, OffsetSpecification.last());
    return chunk == null ? 0 : chunk.offset + chunk.records;
  }

  /** The offset of the first record of the chunk that has one of this time or a later one; the end, if none has. */
  synchronized long at(String stream, long millis) {
    Chunk chunk = look(stream, OffsetSpecification.timestamp(millis));
    return chunk == null ? end(stream) : chunk.offset;
  }

  private Chunk look(String stream, OffsetSpecification where) {
    try {
      connect();
      chunks.clear();
      byte mine = ++subscription;
      check(stream, client.subscribe(mine, stream, where, 1));
      // The server sends a chunk before it answers anything else.
      client.metadata(stream);
      boolean must = filled.contains(stream) && !where.isTimestamp();
      Chunk chunk = chunks.poll(must ? PATIENCE : HANDED_OVER, TimeUnit.MILLISECONDS);
      client.unsubscribe(mine);
      if (chunk == null && must) {
        throw RabbitException.noAnswer("no chunk of stream \"" + stream + "\"", null);
      }
      if (chunk != null) {
        filled.add(stream);
      }
      return chunk;
    } catch (StreamException e) {
      close();
      throw RabbitException.noAnswer(options.address() + ": " + e.getMessage(), e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw RabbitException.noAnswer("interrupted", e);
    }
  }

  private void connect() {
    if (client != null && !client.isOpen()) {
      close();
    }
    if (client == null) {
      client = options.connect(new ClientParameters().chunkListener((from, id, offset, records, size) -> {
        chunks.add(new Chunk(id, offset, records));
        return null;
      }));
    }
  }

  static void check(String stream, Response response) {
    if (response.getResponseCode() == Constants.RESPONSE_CODE_STREAM_DOES_NOT_EXIST) {
      throw RabbitException.noStream(stream, "code " + response.getResponseCode());
    }
    if (response.getResponseCode() == Constants.RESPONSE_CODE_ACCESS_REFUSED) {
      throw RabbitException.refused("stream \"" + stream + "\"", null);
    }
    if (!response.isOk()) {
      throw RabbitException.noAnswer("stream \"" + stream + "\": code " + response.getResponseCode(), null);
    }
  }

  @Override
  public synchronized void close() {
    if (client != null) {
      client.close();
      client = null;
    }
  }
}
