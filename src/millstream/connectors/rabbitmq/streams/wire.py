"""RabbitMQ's stream protocol, as far as sinks and plans need it. Jobs read streams by RabbitMQ's own Java client."""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from millstream.connectors.rabbitmq.connect import Server
from millstream.connectors.rabbitmq.errors import closed, refused, unconfirmed, unreachable

VERSION, ANSWER = 1, 0x8000
DECLARE_PUBLISHER, PUBLISH, CONFIRM, PUBLISH_ERROR = 1, 2, 3, 4
METADATA, METADATA_UPDATE, PEER_PROPERTIES, SASL_HANDSHAKE, SASL_AUTHENTICATE = 15, 16, 17, 18, 19
TUNE, OPEN, CLOSE, HEARTBEAT, PARTITIONS = 20, 21, 22, 23, 25
OK, NO_STREAM = 1, 2
REFUSED = (8, 9, 12, 16)
"""Codes of answers: login, its mechanism, virtual host, permission."""
LARGEST_FRAME = 1 << 20
PATIENCE = 30
"""Seconds after which an answer will not come any more."""


@dataclass
class Fields:
    """Reads the fields of a frame, one after the other."""

    data: bytes
    at: int = 0

    def number(self, kind: str) -> int:
        (found,) = struct.unpack_from(f">{kind}", self.data, self.at)
        self.at += struct.calcsize(kind)
        return int(found)

    def text(self) -> str:
        length = self.number("h")
        self.at += max(0, length)
        return self.data[self.at - max(0, length) : self.at].decode()

    def texts(self) -> list[str]:
        return [self.text() for _ in range(self.number("I"))]


@dataclass
class StreamConnection:
    """A connection. One thread uses it; errors of the network become ours."""

    server: Server
    host: str
    port: int
    publishers: dict[str, int] = field(default_factory=dict)
    """Stream -> the number by which messages name it."""
    _unconfirmed: dict[tuple[int, int], None] = field(default_factory=dict)
    _asked: int = 0

    def __post_init__(self) -> None:
        with explained():
            self._socket = socket.create_connection((self.host, self.port), PATIENCE)
            context = self.server.context()
            if context is not None:
                self._socket = context.wrap_socket(self._socket, server_hostname=self.host)
            self._input = self._socket.makefile("rb")
            try:
                self._log_in()
            except BaseException:
                self._socket.close()
                raise

    def _log_in(self) -> None:
        user, password = self.server.credentials()
        self._call(PEER_PROPERTIES, struct.pack(">I", 1) + text("product") + text("Millstream"))
        self._call(SASL_HANDSHAKE, b"")
        opaque = f"\0{user}\0{password}".encode()
        self._call(SASL_AUTHENTICATE, text("PLAIN") + struct.pack(">I", len(opaque)) + opaque)
        told = self._next(TUNE)
        largest = min(LARGEST_FRAME, told.number("I") or LARGEST_FRAME)
        # No heartbeats: using the connection shows when it is gone.
        self._send(TUNE, struct.pack(">II", largest, 0))
        self._call(OPEN, text(self.server.virtual_host))

    # --- what is asked

    def partitions(self, super_stream: str) -> list[str]:
        """Its streams, in their order."""
        with explained():
            return self._call(PARTITIONS, text(super_stream), super_stream).texts()

    def leader(self, stream: str) -> tuple[str, int]:
        """Host and port of the server that takes messages for it; an error if there is no such stream."""
        with explained():
            answer = self._ask(METADATA, struct.pack(">I", 1) + text(stream))
            brokers = {answer.number("H"): (answer.text(), answer.number("I")) for _ in range(answer.number("I"))}
            answer.number("I")
            answer.text()
            check(answer.number("H"), stream)
            leader = answer.number("H")
        if leader not in brokers:
            raise unreachable(ConnectionError(f'the stream "{stream}" has no leader at the moment'))
        return brokers[leader]

    # --- what is published

    def declare(self, stream: str, name: str) -> int:
        """The number of a publisher; by its name the server remembers its last message."""
        if stream not in self.publishers:
            number = len(self.publishers)
            with explained():
                self._call(DECLARE_PUBLISHER, struct.pack(">B", number) + text(name) + text(stream), stream)
            self.publishers[stream] = number
        return self.publishers[stream]

    def publish(self, publisher: int, messages: Sequence[tuple[int, bytes]]) -> None:
        """`messages`: each with its id, in order. One that the server already has is confirmed, and dropped."""
        parts = [struct.pack(">BI", publisher, len(messages))]
        for id, message in messages:
            parts += [struct.pack(">QI", id, len(message)), message]
            self._unconfirmed[publisher, id] = None
        with explained():
            self._send(PUBLISH, b"".join(parts))

    def confirm(self, most: int) -> None:
        """Waits until at most `most` messages are unconfirmed."""
        with explained():
            while len(self._unconfirmed) > most:
                self._next()

    def close(self) -> None:
        with suppress(OSError):
            self._call(CLOSE, struct.pack(">H", OK) + text("done"))
        with suppress(OSError):
            self._socket.close()

    # --- frames

    def _send(self, command: int, content: bytes) -> None:
        self._socket.sendall(struct.pack(">IHH", len(content) + 4, command, VERSION) + content)

    def _ask(self, command: int, content: bytes) -> Fields:
        self._asked += 1
        self._send(command, struct.pack(">I", self._asked) + content)
        # RabbitMQ 3.10 answers some requests under the number of the request.
        answer = self._next(command | ANSWER, command)
        if answer.number("I") != self._asked:
            raise ConnectionError("an answer to something else")
        return answer

    def _call(self, command: int, content: bytes, stream: str = "") -> Fields:
        answer = self._ask(command, content)
        check(answer.number("H"), stream)
        return answer

    def _next(self, *wanted: int) -> Fields:
        """The next frame of these kinds; what comes before it is handled. Without any: whatever comes next."""
        while True:
            (size,) = struct.unpack(">I", self._read(4))
            frame = Fields(self._read(size))
            command = frame.number("H")
            frame.number("H")
            if command in wanted:
                return frame
            self._handle(command, frame)
            if not wanted:
                return frame

    def _read(self, size: int) -> bytes:
        found = self._input.read(size)
        if found is None or len(found) < size:
            raise ConnectionError("the connection has ended")
        return found

    def _handle(self, command: int, frame: Fields) -> None:
        if command == CONFIRM:
            publisher = frame.number("B")
            for _ in range(frame.number("I")):
                self._unconfirmed.pop((publisher, frame.number("Q")), None)
        elif command == PUBLISH_ERROR:
            publisher, _, id = frame.number("B"), frame.number("I"), frame.number("Q")
            stream = next((name for name, number in self.publishers.items() if number == publisher), "")
            raise unconfirmed(f'"{stream}"', f"message {id}: code {frame.number('H')}")
        elif command == METADATA_UPDATE:
            code, stream = frame.number("H"), frame.text()
            raise ConnectionError(f'the stream "{stream}" has moved, or is gone: code {code}')
        elif command == CLOSE:
            raise ConnectionError("the server has closed the connection")


def connected(server: Server) -> StreamConnection:
    """To the server that is named; it knows all streams."""
    return StreamConnection(server, *server.place())


def text(value: str) -> bytes:
    encoded = value.encode()
    return struct.pack(">h", len(encoded)) + encoded


def check(code: int, stream: str) -> None:
    if code == OK:
        return
    if code in REFUSED:
        raise refused(f"code {code}" + (f' for stream "{stream}"' if stream else ""))
    if code == NO_STREAM:
        raise closed(stream, 404, f"no such stream: code {code}")
    raise ConnectionError(f"the server says no: code {code}")


@contextmanager
def explained() -> Iterator[None]:
    """Errors of the network, as ours."""
    try:
        yield
    except (OSError, struct.error) as error:
        raise unreachable(error) from error
