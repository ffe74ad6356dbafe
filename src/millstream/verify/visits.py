"""Reports the places that a job's process meets to the process that watches it, over a socket.

job's JVM, Python ──"sink.write 3 matches"──▶ Listener ──▶ Watch: go on, take an image, or kill
                  ◀──────── go on ──────────
"""

from __future__ import annotations

import socket
import threading
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import suppress

from millstream.runtime.faults import VISITS
from millstream.verify.faults import Fault, Place, Visit


class Watch:
    """Of one run: remembers every visit, and does something where a fault is to be, or at the next visit of that place
    if it is not met as often as in the run that the fault was chosen from: in real time epochs end at varying
    points."""

    def __init__(self, faults: Iterable[Fault] = (), act: Callable[[Fault], None] | None = None) -> None:
        self.seen: list[Visit] = []
        self._faults: dict[Place, list[Fault]] = {}
        for fault in faults:
            self._faults.setdefault(fault.visit.place, []).append(fault)
        self._act = act
        self._counts: Counter[Visit] = Counter()
        self._timers: list[threading.Timer] = []
        self._failures: list[Exception] = []
        self._lock = threading.Lock()

    def visit(self, point: str, epoch: int, sink: str) -> None:
        first = Visit(point, epoch, sink)
        with self._lock:
            visit = Visit(point, epoch, sink, self._counts[first])
            self._counts[first] += 1
            self.seen.append(visit)
            due = self._due(visit)
        for fault in due:
            if fault.later_ms:
                timer = threading.Timer(fault.later_ms / 1000, self._do, [fault])
                self._timers.append(timer)
                timer.start()
            else:
                self._do(fault)

    def _due(self, visit: Visit) -> list[Fault]:
        faults = self._faults.get(visit.place, [])
        due = [fault for fault in faults if fault.visit.moment <= visit.moment]
        self._faults[visit.place] = [fault for fault in faults if fault not in due]
        return due

    def _do(self, fault: Fault) -> None:
        assert self._act is not None
        with self._lock:
            try:
                self._act(fault)
            except Exception as error:  # the run goes on; the error is raised where its end is awaited
                self._failures.append(error)

    def end(self) -> None:
        """Raises what went wrong where something was to be done."""
        for timer in self._timers:
            timer.join()
        if self._failures:
            raise self._failures[0]


class Listener:
    """Receives visits; `watch` says what to do about them."""

    def __init__(self) -> None:
        self.watch = Watch()
        self._socket = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def environment(self) -> dict[str, str]:
        return {VISITS: str(self._socket.getsockname()[1])}

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:  # closed
                return
            threading.Thread(target=self._hear, args=[connection], daemon=True).start()

    def _hear(self, connection: socket.socket) -> None:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        # The process may be killed at any moment.
        with suppress(OSError), connection, connection.makefile("rw") as lines:
            for line in lines:
                point, epoch, sink = line.rstrip("\n").split("\t")
                self.watch.visit(point, int(epoch), sink)
                lines.write("go on\n")
                lines.flush()

    def close(self) -> None:
        self._socket.close()
