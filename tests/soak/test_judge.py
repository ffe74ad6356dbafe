"""The judge of a soak sees what is lost, duplicated or wrong."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from soak.cluster import judge as cluster
from soak.judge import compared, totals
from soak.report import last_line

ORDERS = [{"id": n, "customer": n % 2, "price": 10 * n} for n in range(4)]
TOTALS = [
    {"customer": 0, "orders": 1, "total": 0},
    {"customer": 0, "orders": 2, "total": 20},
    {"customer": 1, "orders": 2, "total": 40},
]


def judged(monkeypatch: pytest.MonkeyPatch, **topics: list[dict[str, Any]]) -> cluster.Judged:
    there = {"orders": ORDERS, "every": ORDERS, "totals": TOTALS, **topics}

    def read(_: str, topic: str) -> Iterator[dict[str, Any]]:
        return iter(there[topic])

    monkeypatch.setattr(cluster, "read", read)
    return cluster.judge("nowhere", lambda: iter(ORDERS))


def test_all_is_well(monkeypatch: pytest.MonkeyPatch) -> None:
    found = judged(monkeypatch)
    assert found.well
    assert last_line(3, found.sinks, found.wrong) == "3 faults, lost 0, duplicated 0, state wrong 0"


def test_rows_are_lost_and_doubled(monkeypatch: pytest.MonkeyPatch) -> None:
    found = judged(monkeypatch, every=[*ORDERS[1:], ORDERS[1]])
    assert not found.well
    assert last_line(3, found.sinks, found.wrong) == "3 faults, lost 1, duplicated 1, state wrong 0"


def test_state_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    found = judged(monkeypatch, totals=[*TOTALS[1:2], {"customer": 2, "orders": 1, "total": 1}])
    assert not found.well
    assert found.wrong == 2  # one is missing, and the other is unknown


def test_rows_are_counted() -> None:
    want, have = Counter({(1, 1, 5): 1, (2, 1, 7): 1}), Counter({(1, 1, 5): 3})
    verdict = compared("sink", want, have)
    assert (verdict.lost, verdict.duplicated) == (1, 2)
    assert totals(want) == {1: (2, 12)}
