"""Machines that are threads, or processes, of this one."""

from __future__ import annotations

import multiprocessing
import pickle
import threading
from collections.abc import Callable

from millstream.plan.apart import Task


class Threads:
    """`packed` hands objects over as they are, so that a test sees what happens to them."""

    def __init__(self) -> None:
        self.address = self.bound = "127.0.0.1"
        self.tasks: list[ThreadTask] = []
        self.before: Callable[[Callable[[], None]], None] = lambda work: work()

    def packed(self, what: object) -> bytes:
        KEPT[id(what)] = what
        return pickle.dumps(Kept(id(what)))

    def start(self, work: Callable[[], None]) -> ThreadTask:
        self.tasks.append(ThreadTask(lambda: self.before(work)))
        return self.tasks[-1]


KEPT: dict[int, object] = {}


def kept(number: int) -> object:
    return KEPT[number]


class Kept:
    def __init__(self, number: int) -> None:
        self._number = number

    def __reduce__(self) -> tuple[Callable[[int], object], tuple[int]]:
        return kept, (self._number,)


class ThreadTask:
    def __init__(self, work: Callable[[], None]) -> None:
        self.why: str | None = None
        self.cancelled = False
        self._thread = threading.Thread(target=self._run, args=(work,), daemon=True)
        self._thread.start()

    def _run(self, work: Callable[[], None]) -> None:
        try:
            work()
        except Exception as error:
            self.why = str(error)

    @property
    def over(self) -> bool:
        return not self._thread.is_alive()

    def cancel(self) -> None:
        self.cancelled = True


class Processes:
    """Processes that a test can kill."""

    def __init__(self) -> None:
        self.address = self.bound = "127.0.0.1"
        self.started: list[multiprocessing.process.BaseProcess] = []

    def packed(self, what: object) -> bytes:
        return pickle.dumps(what)

    def start(self, work: Callable[[], None]) -> Task:
        made = multiprocessing.get_context("spawn").Process(target=work, daemon=True)
        made.start()
        self.started.append(made)
        return ProcessTask(made)

    def end(self) -> None:
        for one in self.started:
            one.kill()
            one.join()


class ProcessTask:
    why: str | None = None

    def __init__(self, made: multiprocessing.process.BaseProcess) -> None:
        self._made = made

    @property
    def over(self) -> bool:
        return not self._made.is_alive()

    def cancel(self) -> None:
        self._made.kill()
