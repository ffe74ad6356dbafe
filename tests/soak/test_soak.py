"""A short soak: every kind of fault once, on real servers."""

from __future__ import annotations

import pytest

from soak.faults import KINDS, disk_full, order
from soak.run import soak


def test_every_kind_comes_early() -> None:
    import random

    listed = order(33, random.Random(1), root=True)
    assert {kind.name for kind in listed[: len(KINDS)]} == {kind.name for kind in KINDS}
    assert len(listed) == 33
    assert all(kind.strike is not disk_full for kind in order(60, random.Random(1), root=False))


@pytest.mark.slow
@pytest.mark.server
def test_nothing_is_lost_and_nothing_is_there_twice() -> None:
    struck, verdicts = soak(len(KINDS), None, 1, print)
    assert [part.kind for part in struck if part.given_up] == []
    assert len(struck) == len(KINDS)
    assert [(part.sink, part.lost, part.duplicated) for part in verdicts if part.lost or part.duplicated] == []
    assert all(part.expected for part in verdicts)
