"""Signals that wait until they can be answered."""

from __future__ import annotations

import signal
from contextlib import suppress

import pytest

from millstream.runtime.interrupts import held, interrupts


def test_a_signal_waits_until_the_end() -> None:
    passed: list[str] = []

    def start() -> None:
        with held():
            signal.raise_signal(signal.SIGINT)
            passed.append("started")

    with pytest.raises(KeyboardInterrupt):
        start()
    assert passed == ["started"]


def test_a_signal_is_not_forgotten_when_a_start_fails() -> None:
    with interrupts() as interrupted, suppress(OSError), held():
        signal.raise_signal(signal.SIGINT)
        assert not interrupted.is_set()
        raise OSError("no answer")
    assert interrupted.is_set()
