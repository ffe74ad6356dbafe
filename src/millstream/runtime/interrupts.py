"""Requests to stop while a job runs: Ctrl-C, or SIGTERM, which `docker stop` and systemd send."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def interrupts() -> Iterator[threading.Event]:
    """Inside, such a signal sets the event and interrupts nothing: an interrupted call to the JVM cannot be
    repaired."""
    interrupted = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield interrupted
        return
    before = {number: signal.getsignal(number) for number in answered()}
    for number in before:
        signal.signal(number, lambda *_: interrupted.set())
    try:
        yield interrupted
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def answered() -> list[signal.Signals]:
    """If Ctrl-C is ignored, as in the background, it stays ignored; a program that handles SIGTERM itself still
    does."""
    ctrl_c = signal.getsignal(signal.SIGINT) is not signal.SIG_IGN
    ended = signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    return [signal.SIGINT] * ctrl_c + [signal.SIGTERM] * ended
