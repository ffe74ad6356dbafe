"""A short soak: every kind of fault once, on real servers."""

from __future__ import annotations

import pytest

from soak.faults import KINDS
from soak.kinds import order
from soak.run import soak
from soak.strike import Plan


def test_every_kind_comes_early() -> None:
    import random

    listed = order(KINDS, 33, random.Random(1), root=True)
    assert {kind.name for kind in listed[: len(KINDS)]} == {kind.name for kind in KINDS}
    assert len(listed) == 33
    assert not any(kind.as_root for kind in order(KINDS, 60, random.Random(1), root=False))


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.server
def test_nothing_is_lost_and_nothing_is_there_twice() -> None:
    struck, verdicts = soak(Plan(len(KINDS), None, 1, print))
    assert [part.kind for part in struck if part.given_up] == []
    assert len(struck) == len(KINDS)
    assert [(part.sink, part.lost, part.duplicated) for part in verdicts if part.lost or part.duplicated] == []
    assert all(part.expected for part in verdicts)
