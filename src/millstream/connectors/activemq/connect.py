"""An ActiveMQ server's address and login, and a connection over STOMP."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from socket import SHUT_RDWR
from typing import Any, ClassVar

from millstream.connectors.activemq.errors import CHECKS, SubscriptionHeld, answered, unreachable
from millstream.connectors.broker_server import BrokerServer
from millstream.connectors.library import library
from millstream.connectors.secrets import Secret
from millstream.connectors.tls import Tls
from millstream.errors import MillstreamError
from millstream.plan.options import OptionChecks

EXAMPLE = "stomp://host:61613"
HEARTBEAT = 10_000
"""Milliseconds: a server that is silently gone is noticed after about twice that."""
PATIENCE = 60
"""Seconds to wait for the server's receipt."""
LET_GO = 10
"""Seconds to wait until the server has released a closed connection."""
HELD = 30
"""Seconds for which a server may hold on to a connection whose client is gone: two missed heartbeats, and some more."""
TRY_AGAIN = 0.2
"""Seconds between two tries to get a subscription that another connection holds."""
LOG = logging.getLogger("millstream")


@dataclass(frozen=True)
class Server(BrokerServer):
    ports: ClassVar[Mapping[str, int]] = {"stomp": 61613, "stomp+ssl": 61614}
    encrypted: ClassVar[Collection[str]] = ("stomp+ssl",)
    checks: ClassVar[OptionChecks] = CHECKS


class Connection:
    """A connection. Messages that arrive wait in it; an error of the server is raised by the next call."""

    def __init__(self, server: Server, label: str, client_id: str | None = None) -> None:
        # It logs as errors what it raises, or passes to its listener, anyway.
        logging.getLogger("stomp.py").setLevel(logging.CRITICAL)
        self._library = library("stomp", "activemq")
        self._label = label
        self._listener = Listener()
        self._stomp = self._made(server)
        self._stomp.set_listener("", self._listener)
        user, password = server.login()
        headers = {"client-id": client_id} if client_id else {}
        try:
            self._stomp.connect(user, password, wait=True, headers=headers)
        except (self._library.exception.StompException, OSError) as error:
            self._end()
            raise self._why(error) from error

    def _made(self, server: Server) -> Any:
        where = [server.place()]
        made = self._library.Connection12(
            where,
            heartbeats=(HEARTBEAT, HEARTBEAT),
            auto_decode=False,
            auto_content_length=False,
            reconnect_attempts_max=1,
            timeout=10,
        )
        if (tls := server.encryption()) is not None:
            made.set_ssl(where, ca_certs=tls.ca, cert_file=tls.certificate, key_file=tls.key)
        return made

    @property
    def artemis(self) -> bool:
        return "artemis" in self._listener.server.lower()

    def _why(self, error: Exception) -> MillstreamError:
        heard = self._listener
        if heard.errors:
            return answered(self._label, heard.errors[0])
        return unreachable(heard.lost or str(error) or type(error).__name__)

    def call(self, what: str, **arguments: Any) -> None:
        """A frame: `subscribe`, `ack`, `begin`, `send`, `commit` …"""
        try:
            getattr(self._stomp, what)(**arguments)
        except (self._library.exception.StompException, OSError) as error:
            raise self._why(error) from error
        self.check()

    def confirmed(self, what: str, receipt: str, **arguments: Any) -> None:
        """A frame, and the server's receipt for it: all frames before it were handled, too."""
        waited = self._listener.receipts[receipt] = threading.Event()
        self.call(what, receipt=receipt, **arguments)
        for _ in range(PATIENCE * 10):
            if waited.wait(0.1):
                del self._listener.receipts[receipt]
                return
            self.check()
        raise unreachable(f"no receipt for {what} in {PATIENCE} seconds")

    def check(self) -> None:
        heard = self._listener
        if heard.errors:
            raise answered(self._label, heard.errors[0])
        if heard.lost is not None:
            raise unreachable(heard.lost)

    def next(self, seconds: float) -> Any | None:
        """A message, if one comes in time."""
        try:
            return self._listener.messages.get(block=seconds > 0, timeout=seconds or None)
        except Empty:
            self.check()
            return None

    def close(self) -> None:
        """Returns when the server has released the connection: another may then use its client id."""
        with suppress(self._library.exception.StompException, OSError):
            self._stomp.disconnect()  # asks for a receipt, and closes the socket when it arrives
            self._listener.ended.wait(LET_GO)
        self._end()

    def _end(self) -> None:
        """Of the socket, whether or not the server has answered."""
        transport = self._stomp.transport
        transport.running = False
        if (rest := transport.socket) is not None:
            with suppress(OSError):
                rest.shutdown(SHUT_RDWR)


def connect(server: Server, label: str, client_id: str | None) -> Connection:
    """A server allows one connection of a client id, and may not have noticed yet that the last one is gone."""
    deadline = time.monotonic() + HELD
    told = False
    while True:
        try:
            return Connection(server, label, client_id)
        except SubscriptionHeld as error:
            if time.monotonic() > deadline:
                raise
            if not told:
                LOG.info('waits for the subscription of "%s", which another connection holds: %s', label, error.found)
            told = True
            time.sleep(TRY_AGAIN)


class Listener:
    """What the client's own thread hears from the server."""

    def __init__(self) -> None:
        self.messages: SimpleQueue[Any] = SimpleQueue()
        self.receipts: dict[str, threading.Event] = {}
        self.errors: list[str] = []
        self.lost: str | None = None
        self.ended = threading.Event()
        self.server = ""

    def on_connected(self, frame: Any) -> None:
        self.server = str(frame.headers.get("server", ""))

    def on_message(self, frame: Any) -> None:
        self.messages.put(frame)

    def on_receipt(self, frame: Any) -> None:
        waited = self.receipts.get(frame.headers["receipt-id"])
        if waited is not None:
            waited.set()

    def on_error(self, frame: Any) -> None:
        body = frame.body.decode(errors="replace") if isinstance(frame.body, bytes) else str(frame.body or "")
        self.errors.append(f"{frame.headers.get('message', '')} {body}".strip())

    def on_disconnected(self) -> None:
        self.lost = self.lost or "the connection has ended"
        self.ended.set()

    def on_heartbeat_timeout(self) -> None:
        self.lost = "no heartbeat"

    def __getattr__(self, name: str) -> Any:
        """Ignores all other events of a listener."""
        if name.startswith("on_"):
            return lambda *_: None
        raise AttributeError(name)


def server(url: str, *, user: str | None = None, password: Secret | None = None, tls: Tls | None = None) -> Server:
    """A server: `activemq.server("stomp://host:61613", user="shop", password=activemq.secret(env="PASSWORD"))`."""
    return Server.checked(url, user, password, tls, EXAMPLE)


def at(given: str | Server | None) -> Server:
    return Server.chosen(given, "MILLSTREAM_ACTIVEMQ", EXAMPLE, Server.ports)
