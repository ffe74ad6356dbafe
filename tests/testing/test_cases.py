"""The generators of random input."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.testing import cases
from millstream.testing.cases import Change, Edit, Fact, Upsert, whole
from millstream.testing.changelog import Changelog, text

ROW = cases.rows(c=whole(0, 3, skew=0.4), id=whole(0, 5), v=whole(0, 9, nulls=0.2))


@given(seed=st.integers(), key=st.sampled_from([(), ("c", "id")]))
def test_only_live_rows_are_deleted(seed: int, key: tuple[str, ...]) -> None:
    log = Changelog()
    live: dict[str, int] = {}
    for change in cases.changelog(Random(seed), ROW, 60, key=key):
        assert isinstance(change, Edit)
        weight = 1 if change.op == "insert" else -1
        log.change(change.row, weight)
        if key:
            name = text(change.place)
            live[name] = live.get(name, 0) + weight
            assert live[name] in (0, 1), "one row per key"


def test_a_seed_gives_the_same_changes() -> None:
    makers: tuple[Callable[[Random], list[Change]], ...] = (
        lambda random: cases.stream(random, ROW, 50),
        lambda random: cases.changelog(random, ROW, 50),
        lambda random: cases.upserts(random, ROW, ("c",), 50),
    )
    for make in makers:
        assert make(Random(1)) == make(Random(1)) != make(Random(2))


def test_a_table_grows_and_shrinks() -> None:
    log = Changelog()
    sizes = []
    for change in cases.changelog(Random(1), ROW, 300):
        assert isinstance(change, Edit)
        log.change(change.row, 1 if change.op == "insert" else -1)
        sizes.append(log.rows.total())
    assert max(sizes) > 80
    assert sizes[-1] < 30
    assert max(log.rows.values(), default=0) >= 1


def test_upserts_have_tombstones_and_keys() -> None:
    changes = cases.upserts(Random(1), ROW, ("c", "id"), 100)
    rows = [change.row for change in changes if isinstance(change, Upsert)]
    assert len(rows) == 100
    assert None in rows
    assert all(set(change.key) == {"c", "id"} for change in changes if isinstance(change, Upsert))


def test_streams_repeat_themselves() -> None:
    changes = cases.stream(Random(1), ROW, 100)
    rows = [text(change.row) for change in changes if isinstance(change, Fact)]
    assert len(set(rows)) < 100


def test_broken_records() -> None:
    changes = cases.stream(Random(1), ROW, 100, broken=0.3)
    assert 10 < sum(isinstance(change, cases.Broken) for change in changes) < 50


@pytest.mark.parametrize("seed", range(3))
def test_columns(seed: int) -> None:
    random = Random(seed)
    numbers = [cases.doubles(special=0.5)(random) for _ in range(200)]
    assert {"NaN", "Infinity", "-Infinity"} <= {number for number in numbers if isinstance(number, str)}
    amounts = [cases.decimals(whole=2, scale=3)(random) for _ in range(200)]
    assert all(abs(float(amount)) < 100 and len(amount.split(".")[1]) == 3 for amount in amounts)
    assert None in [cases.lists(whole(0, 1), 3, nulls=0.5)(random) for _ in range(20)]
    assert {cases.words(2)(random) for _ in range(50)} == {"w0", "w1"}
