"""The changelog checker."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import millstream as ms
from millstream import journal
from millstream.testing.changelog import Appends, Changelog, Upserts, difference, text


def written(path: Path, *records: tuple[dict[str, Any] | None, dict[str, Any] | None]) -> list[journal.Record]:
    journal.create(path, "t")
    with journal.producer(path, "t", durable=False) as out:
        for key, value in records:
            out.send(value, key=key)
    return list(journal.read(path, "t"))


def test_changes_are_summed() -> None:
    log = Changelog()
    log.change({"a": 1, "b": None}, 2)
    log.change({"b": None, "a": 1}, -1)
    log.change({"a": 2}, 1)
    log.change({"a": 2}, -1)
    assert log.rows == {'{"a": 1, "b": null}': 1}


def test_a_row_that_is_not_there_cannot_be_taken_back() -> None:
    log = Changelog()
    log.change({"a": 1}, 1)
    with pytest.raises(ms.MillstreamError, match=r'MS-TEST-001: .* not there: {"a": 1}'):
        log.change({"a": 1}, -2)
    assert log.rows == {'{"a": 1}': 1}


def test_a_topic_of_changes(tmp_path: Path) -> None:
    log = Changelog()
    changes = [{"op": "insert", "a": 1}, {"op": "insert", "a": 1}, {"op": "delete", "a": 1}]
    log.read(written(tmp_path, *((None, change) for change in changes)))
    assert log.rows == {'{"a": 1}': 1}


def test_a_topic_of_changes_says_where_it_is_wrong(tmp_path: Path) -> None:
    records = written(tmp_path, (None, {"op": "delete", "a": 1}), (None, {"a": 1}))
    with pytest.raises(ms.MillstreamError, match="at offset 0 of partition 0"):
        Changelog().read(records)
    with pytest.raises(ms.MillstreamError, match=r"MS-TEST-002: .*op at offset 1"):
        Changelog().read(records[1:])


def test_a_topic_of_upserts(tmp_path: Path) -> None:
    one, other = {"id": 1}, {"id": 2}
    table = Upserts()
    table.read(written(tmp_path, (one, {"id": 1, "v": 1}), (other, {"v": 2}), (one, {"id": 1, "v": 3}), (other, None)))
    assert table.rows == {'{"id": 1, "v": 3}': 1}


def test_a_tombstone_needs_a_row(tmp_path: Path) -> None:
    with pytest.raises(ms.MillstreamError, match=r'MS-TEST-001: .*key {"id": 1}'):
        Upserts().read(written(tmp_path, ({"id": 1}, None)))


def test_an_upsert_needs_a_key(tmp_path: Path) -> None:
    with pytest.raises(ms.MillstreamError, match="MS-TEST-002"):
        Upserts().read(written(tmp_path, (None, {"v": 1})))


def test_a_topic_of_facts(tmp_path: Path) -> None:
    facts = Appends()
    facts.read(written(tmp_path, (None, {"v": 1}), (None, {"v": 1})))
    assert facts.rows == {'{"v": 1}': 2}


def test_numbers_count_as_equal_up_to_rounding() -> None:
    assert text({"d": 0.1 + 0.2, "z": -0.0, "in": [{"e": 1.0000000000001}]}) == text(
        {"d": 0.3, "z": 0.0, "in": [{"e": 1.0}]}
    )
    assert text({"d": 0.1}) != text({"d": 0.10000001})


def test_differences_are_told() -> None:
    one, other = Changelog(), Changelog()
    one.change({"a": 1}, 3)
    other.change({"a": 1}, 1)
    other.change({"a": 2}, 1)
    assert difference(one.rows, other.rows) == ['missing: {"a": 1} (2 times)', 'extra: {"a": 2}']
    assert difference(one.rows, one.rows) == []
    assert difference(one.rows, other.rows, most=0) == [
        "missing: and 1 other rows",
        "extra: and 1 other rows",
    ]
