"""The latency benchmark itself: what it expects from a job, its percentiles, its line and its picture."""

from __future__ import annotations

import json
from xml.etree import ElementTree

import pytest

from bench.latency.picture import picture
from bench.latency.places import LAG, Case
from bench.latency.report import Found, Seen, beside_flink, table
from bench.latency.run import check


def found(engine: str, times: float, rate: int = 1000) -> Found:
    seen = Seen(2 * times, 3 * times, 10 * times, 20 * times, 30 * times)
    return Found(Case("matches", rate, 1), engine, 30 * times, 5 * times, seen, seen)


@pytest.mark.parametrize("name", ["matches", "through"])
@pytest.mark.parametrize("records", [10, 2 * LAG, 3 * LAG, 3 * LAG + 1])
def test_what_is_expected_is_what_the_records_say(name: str, records: int) -> None:
    case = Case(name, 1000, 1)
    rows = [json.loads(case.record(number, number)) for number in range(records)]
    ids = [row["id"] for row in rows]
    if case.matches:
        likes = {(row["liker"], row["liked"]) for row in rows}
        ids = [row["id"] for row in rows if row["liker"] < row["liked"] and (row["liked"], row["liker"]) in likes]
    assert sorted(ids) == list(case.expected(records))


def test_percentiles_are_of_rows_that_were_seen() -> None:
    assert Seen.of([float(number) for number in range(1, 1001)]) == Seen(500, 900, 990, 999, 1000)
    assert Seen.of([7.0]) == Seen(7, 7, 7, 7, 7)


def test_a_row_that_is_missing_or_comes_twice_is_found() -> None:
    case = Case("through", 10, 1)
    check(case, [(0, 0, 0), (1, 0, 0)], 2)
    for ids in ([0], [0, 1, 1], [0, 1, 2]):
        with pytest.raises(RuntimeError):
            check(case, [(id_, 0, 0) for id_ in ids], 2)


def test_every_case_is_compared_with_flink_and_the_last_line_is_the_worst() -> None:
    both = [found("millstream", 1), found("flink", 2)]
    half = "p50 0.50, p99 0.50, p99.9 0.50, cpu 0.50, idle 0.50 of flink"
    assert beside_flink(both).splitlines() == [f"matches, 1,000/s, checkpoints every 1 s: {half}", half]
    lost = [found("millstream", 3, 10_000), found("flink", 2, 10_000)]
    assert beside_flink([*both, *lost]).splitlines()[-1] == half.replace("0.50", "1.50")
    assert "nothing to compare" in beside_flink(both[:1])
    assert (
        table(both)
        .splitlines()[2]
        .startswith("| matches | 1,000 | 1 s | millstream | 2.0 | 3.0 | 10.0 | 20.0 | 30.0 |")
    )


def test_the_picture_has_a_line_per_case() -> None:
    drawn = ElementTree.fromstring(picture([found("millstream", 1), found("flink", 2)]))
    circles = [part for part in drawn if part.tag.endswith("circle")]
    assert len(circles) == 6
