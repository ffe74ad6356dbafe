"""A system whose clients are on other machines, where messages are fetched and decoded. All else stays in the front.

driver: front ─── Apart ─── AwayClient ═══ TCP ═══ Served ─── client ─── system        another machine, in a task
        append, sync, deduplicate                  messages, by number

Messages cross without their handles, and are acknowledged by number. When the task, its machine or the connection is
lost, so is the connection to the system: the front connects again, which starts another task.
"""

from __future__ import annotations

import logging
import pickle
import secrets
import socket
import time
from collections.abc import Mapping, Sequence
from functools import partial
from threading import Event
from typing import Any

from millstream.plan.apart import Machines, Task
from millstream.reception.answers import Fetched, Greeting, Other, Ours
from millstream.reception.line import Line, admitted, listening
from millstream.reception.message import Client, ConnectionLost, Message, System, Travels
from millstream.reception.serving import CLOSE, serve

LOG = logging.getLogger("millstream")
STARTING = 60.0
"""Seconds in which a task must have begun, and connected back."""
ANSWER = 300.0
"""Seconds after which a call that was not answered is given up: a client has shorter limits of its own."""
LAST = 20.0
"""The same when the run ends."""
LOST = "MS-CLUSTER-016"
DRIVER = "spark.millstream.receivers=driver keeps receivers in the driver"


class Apart:
    """`source`: what errors call it. `ended`: set when the run ends."""

    def __init__(self, system: System, machines: Machines, source: str, ended: Event) -> None:
        self._system = system
        self._machines = machines
        self._source = source
        self._ended = ended

    def connect(self, number: int, places: Mapping[str, str]) -> Client:
        label = f'receiver {number + 1} of source "{self._source}"'
        system = self._system.sent() if isinstance(self._system, Travels) else self._system
        packed = self._machines.packed((system, number, dict(places)))
        secret = secrets.token_bytes(32)
        with listening(self._machines.bound) as listener:
            address = (self._machines.address, int(listener.getsockname()[1]))
            task = self._machines.start(partial(serve, address, secret))
            try:
                line = self._accepted(listener, secret, task, label, address)
            except BaseException:
                task.cancel()
                raise
        return AwayClient(line, task, label, self._ended, packed)

    def _accepted(
        self, listener: socket.socket, secret: bytes, task: Task, label: str, address: tuple[str, int]
    ) -> Line:
        deadline = time.monotonic() + STARTING
        while not task.over and not self._ended.is_set() and time.monotonic() < deadline:
            try:
                end, _ = listener.accept()
                return admitted(end, secret)
            except TimeoutError:
                continue
            except OSError as error:
                LOG.warning("%s: a connection to %s:%d was refused: %s", label, *address, error)
        host, port = address
        raise ConnectionLost(
            LOST,
            f"{label} was started on no executor.",
            found=task.why or f"nothing has connected within {STARTING:g} s",
            hint=f"executors must reach the driver at {host}, at any port (here {port}); {DRIVER}",
        )


class AwayClient:
    """The front's end of a client. The one that it stands for may tell more; this one then does, too."""

    def __init__(self, line: Line, task: Task, label: str, ended: Event, packed: bytes) -> None:
        self._line = line
        self._task = task
        self._label = label
        self._ended = ended
        self._broken = False
        try:
            greeting = self._answer(packed)
            assert isinstance(greeting, Greeting)
        except BaseException:
            self._end()
            raise
        self._quiet = greeting.quiet
        LOG.debug("%s runs on %s", label, greeting.host)
        for name in greeting.tells:
            setattr(self, name, partial(self._call, name))

    @property
    def quiet(self) -> float:
        return self._quiet

    def fetch(self, most: int, seconds: float) -> Sequence[Message]:
        found = self._call("fetch", most, seconds)
        assert isinstance(found, Fetched)
        return found.messages()

    def acknowledge(self, messages: Sequence[Message]) -> None:
        if messages:
            self._call("acknowledge", [message.handle for message in messages])

    def rest(self, seconds: float) -> None:
        self._call("rest", seconds)

    def waiting(self) -> int | None:
        found: int | None = self._call("waiting")
        return found

    def close(self) -> None:
        try:
            if not self._broken:
                self._call(CLOSE)
        except ConnectionLost:
            pass  # what it had not acknowledged goes back when the system misses it
        finally:
            self._end()

    def _end(self) -> None:
        self._line.close()
        self._task.cancel()

    def _call(self, name: str, *arguments: Any) -> Any:
        return self._answer(pickle.dumps((name, *arguments)))

    def _answer(self, frame: bytes) -> Any:
        try:
            self._line.send(frame)
            answer = pickle.loads(self._line.receive(partial(self._look, time.monotonic())))
        except OSError as error:
            raise self._lost(str(error)) from error
        if isinstance(answer, Ours | Other):
            raise answer.raised()
        return answer

    def _look(self, begun: float) -> None:
        """While there is no answer. A machine may hang, and Spark may know that it is gone before its network does."""
        if self._task.over:
            raise self._lost(self._task.why or "its task has ended")
        if time.monotonic() - begun > (LAST if self._ended.is_set() else ANSWER):
            raise self._lost("it does not answer")

    def _lost(self, why: str) -> ConnectionLost:
        self._broken = True
        return ConnectionLost(LOST, f"{self._label} was lost on its executor.", found=why)
