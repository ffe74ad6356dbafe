"""A queue in memory that behaves as brokers do: what is not acknowledged when a connection ends is delivered again."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import ClassVar

from millstream.plan.received import Receiver
from millstream.reception import ConnectionLost, Message


class MemoryQueue:
    """`fail_after`: how many messages are acknowledged before a connection breaks, in the middle of its work."""

    def __init__(self) -> None:
        self.waiting: deque[Message] = deque()
        self.acknowledged: list[Message] = []
        self.connections = 0
        self.lose_acknowledgements = 0
        self._lock = threading.Lock()

    def put(self, *messages: Message) -> None:
        self.waiting.extend(messages)

    def connect(self, number: int, places: Mapping[str, str]) -> MemoryClient:
        self.connections += 1
        return MemoryClient(self)

    def take(self, most: int) -> list[Message]:
        with self._lock:
            return [self.waiting.popleft() for _ in range(min(most, len(self.waiting)))]

    def give_back(self, messages: Sequence[Message]) -> None:
        with self._lock:
            for message in reversed(messages):
                message.redelivered = True
                self.waiting.appendleft(message)


class MemoryClient:
    quiet: ClassVar[float] = 60.0

    def __init__(self, queue: MemoryQueue) -> None:
        self._queue = queue
        self._held: list[Message] = []

    def fetch(self, most: int, seconds: float) -> Sequence[Message]:
        taken = self._queue.take(most)
        self._held += taken
        if not taken:
            threading.Event().wait(min(seconds, 0.005))
        return taken

    def acknowledge(self, messages: Sequence[Message]) -> None:
        if self._queue.lose_acknowledgements and messages:
            self._queue.lose_acknowledgements -= 1
            raise ConnectionLost("MS-TEST-001", "the connection is cut.")
        self._held = [message for message in self._held if message not in messages]
        self._queue.acknowledged += messages

    def rest(self, seconds: float) -> None:
        threading.Event().wait(0.005)

    def waiting(self) -> int | None:
        return len(self._queue.waiting)

    def close(self) -> None:
        self._queue.give_back(self._held)
        self._held = []


@contextmanager
def receiving(made: Receiver) -> Iterator[list[Exception]]:
    """It receives inside the block; yields what went wrong."""
    made.prepare()
    ended, failures = threading.Event(), list[Exception]()

    def work() -> None:
        try:
            made.receive(ended)
        except Exception as error:
            failures.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield failures
    finally:
        ended.set()
        thread.join()
