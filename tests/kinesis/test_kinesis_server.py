"""The server that acts as Kinesis."""

from __future__ import annotations

import socket

from servers.kinesis import Kinesis

HALF = b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{"


def test_it_outlives_clients_that_go_away_in_the_middle_of_a_request(server: Kinesis) -> None:
    for _ in range(5):
        with socket.create_connection(("127.0.0.1", server.port)) as client:
            client.sendall(HALF)
        assert "StreamNames" in server.client().list_streams()
    assert "ECONNRESET" in server.server.log.read_text()
