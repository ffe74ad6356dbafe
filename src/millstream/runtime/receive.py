"""Receives from systems that cannot be read again: into a journal beside the checkpoint, which can."""

from __future__ import annotations

import threading
from collections.abc import Iterable

from millstream.plan.connectors import ReceivedSource, Receiver
from millstream.plan.nodes import Source


class Reception:
    """A thread per source; what goes wrong is kept for whoever looks after the job."""

    def __init__(self, sources: Iterable[Source]) -> None:
        self.failure: Exception | None = None
        self._ended = threading.Event()
        received = [source.options for source in sources if isinstance(source.options, ReceivedSource)]
        self._receivers = [options.receiver() for options in received]
        self._threads: list[threading.Thread] = []

    def copy(self) -> None:
        """For a run that ends with what there is now."""
        for receiver in self._receivers:
            receiver.copy()

    def start(self) -> None:
        for receiver in self._receivers:
            receiver.prepare()
        self._threads = [self._thread(receiver) for receiver in self._receivers]
        for thread in self._threads:
            thread.start()

    def _thread(self, receiver: Receiver) -> threading.Thread:
        return threading.Thread(target=self._run, args=(receiver,), name="millstream-reception", daemon=True)

    def _run(self, receiver: Receiver) -> None:
        try:
            receiver.receive(self._ended)
        except Exception as error:
            self.failure = error

    def close(self) -> None:
        self._ended.set()
        for thread in self._threads:
            thread.join()
