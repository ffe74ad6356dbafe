"""The proxy to a server, which can be cut."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator

import pytest

from servers.proxy import Proxy


@pytest.fixture
def echo() -> Iterator[int]:
    """An echo server."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=answer, args=[connection], daemon=True).start()

    def answer(connection: socket.socket) -> None:
        with connection:
            while data := connection.recv(100):
                connection.sendall(data)

    threading.Thread(target=serve, daemon=True).start()
    yield listener.getsockname()[1]
    listener.close()


def said(client: socket.socket, data: bytes) -> bytes:
    """What comes back; nothing if the connection is broken."""
    try:
        client.sendall(data)
        return client.recv(100)
    except OSError:
        return b""


def test_a_way_that_is_cut_and_mended(echo: int) -> None:
    with Proxy() as proxy:
        proxy.to = echo
        with socket.create_connection(("127.0.0.1", proxy.port)) as client:
            assert said(client, b"one") == b"one"
            proxy.cut()
            assert said(client, b"two") == b""
        with socket.create_connection(("127.0.0.1", proxy.port)) as client:
            assert said(client, b"three") == b""
        proxy.mend()
        with socket.create_connection(("127.0.0.1", proxy.port)) as client:
            assert said(client, b"four") == b"four"


def test_a_way_that_swallows(echo: int) -> None:
    """Nothing comes back, and nothing ends, on either side; after it is mended there are new connections."""
    with Proxy() as proxy:
        proxy.to = echo
        with socket.create_connection(("127.0.0.1", proxy.port)) as client:
            assert said(client, b"one") == b"one"
            proxy.swallow()
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, 500)
            client.sendall(b"two")
            with pytest.raises(TimeoutError):  # said by TCP itself, which asks in vain
                client.recv(100)
        with pytest.raises(TimeoutError):
            socket.create_connection(("127.0.0.1", proxy.port), timeout=0.2)
        proxy.mend()
        with socket.create_connection(("127.0.0.1", proxy.port)) as client:
            assert said(client, b"three") == b"three"
