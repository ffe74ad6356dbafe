"""A way to a server that can be cut: connections break off, and new ones are refused until it is mended.

It can also swallow what is sent: neither side learns that a connection is gone, as when a firewall has forgotten it.
And it can end for the server as if the client's process had been killed.
"""

from __future__ import annotations

import contextlib
import ctypes
import socket
import struct
import threading
from typing import Self

SIZE = 1 << 16
ATTACH_FILTER, DETACH_FILTER = 26, 27
"""Linux' own numbers: a filter sees every packet that comes to a socket."""
NOTHING = ctypes.create_string_buffer(struct.pack("HBBI", 0x06, 0, 0, 0), 8)
"""A filter of one instruction: let no byte through."""
TLS_REFUSAL = bytes.fromhex("15030300020228")
"""An alert of TLS: the handshake has failed. Kafka's clients then give up at once; a connection that is merely closed
they would retry again and again."""


class Proxy:
    """Listens on its own port, and hands on what comes to another one of this machine."""

    def __init__(self, port: int = 0, refusal: bytes = b"") -> None:
        """`refusal`: what a refused client receives."""
        self._refusal = refusal
        self._socket = socket.create_server(("127.0.0.1", port))
        self.port: int = self._socket.getsockname()[1]
        self.to: int | None = None
        """The server's port, when there is one."""
        self._open: set[socket.socket] = set()
        self._dark: set[socket.socket] = set()
        self._from_clients: dict[socket.socket, threading.Thread] = {}
        self._lock = threading.Lock()
        self._refuses = False
        threading.Thread(target=self._accept, name="proxy", daemon=True).start()

    def cut(self) -> None:
        """Breaks every connection, like a pulled cable; from now on none is made."""
        with self._lock:
            self._refuses = True
            broken, self._open, self._dark = self._open | self._dark, set(), set()
        for one in broken:
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()

    def hang_up(self) -> None:
        """As when the client's process is killed: what it has sent arrives, then the connections end, and none is made.
        The client must be stopped."""
        with self._lock:
            self._refuses = True
            last = dict(self._from_clients)
        for client in last:
            with contextlib.suppress(OSError):  # it was closed meanwhile
                client.shutdown(socket.SHUT_RD)  # what has come is still read, and then the end
        for thread in last.values():
            thread.join()

    def swallow(self) -> None:
        """Whatever comes, on either side, is dropped: no answer, no end, not even to a question of TCP itself."""
        with self._lock:
            dark, self._open = self._open, set()
            self._dark |= dark
        for one in {*dark, self._socket}:
            program = struct.pack("HP", 1, ctypes.addressof(NOTHING))
            with contextlib.suppress(OSError):  # it was closed meanwhile
                one.setsockopt(socket.SOL_SOCKET, ATTACH_FILTER, program)

    def mend(self) -> None:
        """New connections are made again. Those that were swallowed stay silent."""
        self._refuses = False
        with contextlib.suppress(OSError):  # there was no filter
            self._socket.setsockopt(socket.SOL_SOCKET, DETACH_FILTER, 0)

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._socket.accept()
            except OSError:  # closed
                return
            threading.Thread(target=self._join, args=[client], daemon=True).start()

    def _join(self, client: socket.socket) -> None:
        try:
            if self.to is None or self._refuses:
                raise ConnectionRefusedError
            server = socket.create_connection(("127.0.0.1", self.to))
        except OSError:
            self._refuse(client)
            return
        there = threading.Thread(target=self._pass_on, args=[client, server], daemon=True)
        back = threading.Thread(target=self._pass_on, args=[server, client], daemon=True)
        with self._lock:
            refused = self._refuses
            if not refused:
                self._open |= {client, server}
                self._from_clients[client] = there
                for end in (client, server):
                    end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                there.start()
                back.start()
        if refused:
            server.close()
            self._refuse(client)

    def _refuse(self, client: socket.socket) -> None:
        with client, contextlib.suppress(OSError):
            if self._refusal and client.recv(SIZE):
                client.sendall(self._refusal)
                client.shutdown(socket.SHUT_WR)
                # A connection that is closed with something unread is reset, and what was said may be lost.
                while client.recv(SIZE):
                    pass

    def _pass_on(self, one: socket.socket, other: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := one.recv(SIZE):
                other.sendall(data)
        with self._lock:
            self._open -= {one, other}
            self._dark -= {one, other}
            self._from_clients.pop(one, None)
        for end in (one, other):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()
        self.cut()
