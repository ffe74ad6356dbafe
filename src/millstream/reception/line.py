"""The connection between the front and a receiver on another machine: frames over TCP.

    receiver ── connects ─────────▶ front          and from then on
             ◀── challenge ────────                  front ── request ──▶ receiver
             ── challenge, proof ─▶                        ◀── answer ───
             ◀── proof ────────────

Each side proves that it knows the secret of this one connection, before the other reads anything else: frames are
pickled. The secret itself does not cross.
"""

from __future__ import annotations

import hmac
import secrets
import socket
import struct
from collections.abc import Callable

SIZE = struct.Struct("!Q")
LARGEST = 1 << 30
"""Bytes of a frame. Messages come in frames of much less, unless one alone is that large."""
LOOK = 0.5
"""Seconds between two looks whether to wait any longer."""
GREETING = 3.0
"""Seconds in which whoever connects to the front must have proved that it knows the secret."""
PATIENCE = 60.0
"""The same for the front, as others may be in its way."""
SENDING = 60.0
"""Seconds after which a frame that is not taken is given up."""
CHALLENGE = 32
PROOF = 32
KEEPALIVE = {"TCP_KEEPIDLE": 10, "TCP_KEEPINTVL": 5, "TCP_KEEPCNT": 4}
"""A machine that is silently gone is noticed after half a minute, where the system can be told so."""


class Refused(OSError):
    """The other side does not know the secret."""


class Line:
    """One side of it. It raises an `OSError` when the other side is gone."""

    def __init__(self, end: socket.socket) -> None:
        self._end = end
        end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        end.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for name, value in KEEPALIVE.items():
            if hasattr(socket, name):
                end.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)

    def send(self, frame: bytes) -> None:
        if len(frame) > LARGEST:
            raise ValueError(f"{len(frame)} bytes are too many for a frame, which takes {LARGEST}")
        self._end.settimeout(SENDING)
        self._end.sendall(SIZE.pack(len(frame)))
        self._end.sendall(frame)

    def receive(self, look: Callable[[], None] = lambda: None) -> bytearray:
        """`look`: called while nothing comes; it may raise."""
        self._end.settimeout(LOOK)
        (size,) = SIZE.unpack(exactly(self._end, SIZE.size, look))
        if size > LARGEST:
            raise ConnectionAbortedError(f"a frame of {size} bytes")
        return exactly(self._end, size, look)

    def close(self) -> None:
        self._end.close()


def exactly(end: socket.socket, count: int, look: Callable[[], None] | None = None) -> bytearray:
    """So many bytes. `look`: called whenever the socket's time is over; without it, that is an error."""
    found = bytearray(count)
    rest = memoryview(found)
    while rest:
        try:
            got = end.recv_into(rest)
        except TimeoutError:
            if look is None:
                raise
            look()
            continue
        if got == 0:
            raise ConnectionAbortedError("the other side has closed the connection")
        rest = rest[got:]
    return found


def listening(address: str) -> socket.socket:
    """At a port that is free."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    made = socket.create_server((address.strip("[]"), 0), family=family)
    made.settimeout(LOOK)
    return made


def admitted(end: socket.socket, secret: bytes) -> Line:
    """The front's side of a new connection."""
    try:
        end.settimeout(GREETING)
        asked = secrets.token_bytes(CHALLENGE)
        end.sendall(asked)
        answer = bytes(exactly(end, CHALLENGE + PROOF))
        theirs, given = answer[:CHALLENGE], answer[CHALLENGE:]
        if not hmac.compare_digest(given, proof(secret, b"receiver", asked, theirs)):
            raise Refused("it does not know the secret")
        end.sendall(proof(secret, b"front", theirs, asked))
        return Line(end)
    except BaseException:
        end.close()
        raise


def reached(address: tuple[str, int], secret: bytes) -> Line:
    """The receiver's side."""
    host, port = address
    end = socket.create_connection((host.strip("[]"), port), PATIENCE)
    try:
        asked = bytes(exactly(end, CHALLENGE))
        own = secrets.token_bytes(CHALLENGE)
        end.sendall(own + proof(secret, b"receiver", asked, own))
        given = bytes(exactly(end, PROOF))
        if not hmac.compare_digest(given, proof(secret, b"front", own, asked)):
            raise Refused("it does not know the secret")
        return Line(end)
    except BaseException:
        end.close()
        raise


def proof(secret: bytes, side: bytes, challenge: bytes, own: bytes) -> bytes:
    return hmac.digest(secret, side + challenge + own, "sha256")
