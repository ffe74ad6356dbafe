"""The soak of real time: what it says, and a short one."""

from __future__ import annotations

from dataclasses import replace

import pytest

from soak.steady import Look, grown, report, soak

FIRST = Look(barriers=100, files=500, heap=100.0, resident=900.0, threads=80, p50=2.0, p99=20.0)


def test_what_grows_is_named() -> None:
    assert grown(FIRST, replace(FIRST, barriers=9000, files=510, p99=90.0)) == []
    assert grown(FIRST, replace(FIRST, files=1000, heap=200.0, threads=81)) == ["files", "heap"]
    assert "| files of checkpoint and topics | 500 | 1,000 |" in report(FIRST, replace(FIRST, files=1000))


@pytest.mark.long
def test_a_short_soak() -> None:
    first, last, wrong = soak(60, "100 ms", print)
    assert wrong == 0
    assert last.barriers > first.barriers
