"""Publishes committed epochs. Each message has an id that grows from epoch to epoch: RabbitMQ drops what it has."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field

from millstream.connectors.rabbitmq.connect import Server
from millstream.connectors.rabbitmq.streams.message import encoded, partition_of
from millstream.connectors.rabbitmq.streams.wire import StreamConnection, connected
from millstream.errors import MillstreamError
from millstream.plan.connectors import Carried

ROWS = 32
"""Bits of a message's id that count the rows of an epoch; those above are the epoch's number."""
AT_ONCE, BYTES = 500, 512 << 10
"""Messages and bytes of one frame."""
WINDOW = 10_000
"""How many messages may wait for their confirms."""
LARGEST = (1 << 20) - 64


@dataclass
class Batch:
    """Messages for one stream that are not sent yet."""

    messages: list[tuple[int, bytes]] = field(default_factory=list)
    size: int = 0


class Session:
    """Connections to the leaders of streams, and what waits to be sent."""

    def __init__(self, server: Server, streams: tuple[str, ...], name: str) -> None:
        self._leaders: dict[tuple[str, int], StreamConnection] = {}
        self._of: dict[str, StreamConnection] = {}
        self._batches = {stream: Batch() for stream in streams}
        first = connected(server)
        try:
            for stream in streams:
                where = first.leader(stream)
                if where not in self._leaders:
                    self._leaders[where] = StreamConnection(server, *where)
                self._of[stream] = self._leaders[where]
                self._of[stream].declare(stream, name)
        except BaseException:
            self.close()
            raise
        finally:
            first.close()

    def send(self, stream: str, id: int, message: bytes) -> None:
        batch = self._batches[stream]
        if len(batch.messages) == AT_ONCE or batch.size + len(message) > BYTES:
            self._flush(stream)
        batch.messages.append((id, message))
        batch.size += len(message)

    def _flush(self, stream: str) -> None:
        batch, connection = self._batches[stream], self._of[stream]
        if batch.messages:
            connection.confirm(WINDOW)
            connection.publish(connection.publishers[stream], batch.messages)
            batch.messages, batch.size = [], 0

    def finish(self) -> None:
        """All that was sent is confirmed."""
        for stream in self._batches:
            self._flush(stream)
        for connection in self._leaders.values():
            connection.confirm(0)

    def close(self) -> None:
        for connection in self._leaders.values():
            with suppress(MillstreamError):
                connection.close()


class StreamCarrier:
    """`streams`: one, or the partitions of a super stream."""

    def __init__(self, server: Server, streams: tuple[str, ...], label: str, writer: str) -> None:
        self._server = server
        self._streams = streams
        self._label = label
        self._writer = writer
        self._session: Session | None = None

    def last(self) -> None:
        """RabbitMQ knows the last message, which need not be the last of its epoch."""
        return

    def carry(self, epoch: int, records: Iterable[Carried]) -> None:
        session = self._session or Session(self._server, self._streams, self._writer)
        self._session = None
        try:
            for number, record in enumerate(records):
                message = encoded(record)
                if len(message) > LARGEST:
                    raise too_large(self._label, number, len(message))
                stream = self._streams[partition_of(record.key, number, len(self._streams))]
                session.send(stream, (epoch << ROWS) + number, message)
            session.finish()
        except BaseException:
            session.close()
            raise
        self._session = session

    def close(self) -> None:
        if self._session is not None:
            self._session.close()


def too_large(stream: str, number: int, size: int) -> MillstreamError:
    return MillstreamError(
        "MS-RABBITMQ-010",
        f'a row for "{stream}" is too large for a stream. It waits in the checkpoint and is not lost.',
        found=f"row {number} of its epoch has {size} bytes; a frame takes {LARGEST}",
        hint="leave out large columns, or write them to another sink and send a reference",
    )
