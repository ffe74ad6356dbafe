"""A short soak of brokers: every kind of fault once, on real servers; and the judge of the results."""

from __future__ import annotations

import pytest

from soak.brokers.faults import KINDS
from soak.brokers.judge import received, written
from soak.brokers.run import soak
from soak.strike import Plan


def test_a_repeat_counts_unless_its_token_tells() -> None:
    copies = [(0, "a"), (1, "b"), (1, "b"), (2, "c"), (2, "d")]
    verdict, repeats = written("RabbitMQ", copies, 4, forgets_repeats=False)
    assert (verdict.lost, verdict.duplicated, repeats) == (1, 1, 1)
    verdict, _ = written("Artemis", copies, 4, forgets_repeats=True)
    assert (verdict.lost, verdict.duplicated) == (1, 2)


def test_every_number_is_received_once() -> None:
    verdict = received("RabbitMQ", [0, 2, 2, 3], 3)  # 3 was not confirmed, and came
    assert (verdict.lost, verdict.duplicated) == (1, 1)


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.server
def test_nothing_is_lost_and_repeats_are_told() -> None:
    struck, found = soak(Plan(len(KINDS), None, 1, print))
    assert [part.kind for part in struck if part.given_up] == []
    assert len(struck) == len(KINDS)
    assert [(part.sink, part.lost, part.duplicated) for part in found.sinks if part.lost or part.duplicated] == []
    assert all(part.expected for part in found.sinks)
