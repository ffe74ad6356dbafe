"""Requests to stop while a job runs: Ctrl-C, or SIGTERM, which `docker stop` and systemd send."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def interrupts() -> Iterator[threading.Event]:
    """Inside, such a signal sets the event and interrupts nothing: an interrupted call to the JVM cannot be
    repaired."""
    interrupted = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield interrupted
        return
    with handled_by(lambda *_: interrupted.set()):
        yield interrupted


@contextmanager
def held() -> Iterator[None]:
    """Inside, such a signal waits until the end, however that comes."""
    came: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    try:
        with handled_by(lambda number, _: came.append(number)):
            yield
    finally:
        for number in came[:1]:
            signal.raise_signal(number)


@contextmanager
def handled_by(handler: Callable[[int, FrameType | None], object]) -> Iterator[None]:
    before = {number: signal.getsignal(number) for number in answered()}
    for number in before:
        signal.signal(number, handler)
    try:
        yield
    finally:
        for number, earlier in before.items():
            signal.signal(number, earlier)


def answered() -> list[signal.Signals]:
    """If Ctrl-C is ignored, as in the background, it stays ignored; a program that handles SIGTERM itself still
    does."""
    ctrl_c = signal.getsignal(signal.SIGINT) is not signal.SIG_IGN
    ended = signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    return [signal.SIGINT] * ctrl_c + [signal.SIGTERM] * ended
