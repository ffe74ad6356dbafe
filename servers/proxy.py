"""A way to a server that can be cut: connections break off, and new ones are refused until it is mended.

It can also swallow what is sent: nobody is told that a connection is gone, as when a firewall has forgotten it.
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


class Proxy:
    """Listens on a port of its own, and hands on what comes to another one of this machine."""

    def __init__(self, port: int = 0) -> None:
        self._socket = socket.create_server(("127.0.0.1", port))
        self.port: int = self._socket.getsockname()[1]
        self.to: int | None = None
        """The server's port, when there is one."""
        self._open: set[socket.socket] = set()
        self._dark: set[socket.socket] = set()
        self._lock = threading.Lock()
        self._refuses = False
        threading.Thread(target=self._accept, name="proxy", daemon=True).start()

    def cut(self) -> None:
        """Breaks every connection off, as a cable that is pulled out; from now on none is made."""
        with self._lock:
            self._refuses = True
            broken, self._open, self._dark = self._open | self._dark, set(), set()
        for one in broken:
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()

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
        """New connections are made again. Those that were swallowed stay dark."""
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
            client.close()
            return
        with self._lock:
            self._open |= {client, server}
        for one, other in ((client, server), (server, client)):
            one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=self._pass_on, args=[one, other], daemon=True).start()

    def _pass_on(self, one: socket.socket, other: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := one.recv(SIZE):
                other.sendall(data)
        with self._lock:
            self._open -= {one, other}
            self._dark -= {one, other}
        for end in (one, other):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()
        self.cut()
