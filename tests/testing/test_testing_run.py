"""`run`: what a user's test gives, and what it gets."""

from __future__ import annotations

from base64 import b64decode
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import millstream as ms
from millstream import journal, kafka, postgres
from millstream.testing import Delete, Record, Watermark
from millstream.testing.given import cut
from millstream.testing.written import in_order

if TYPE_CHECKING:
    from millstream.testing import Inputs, Runner

NOWHERE = "/nowhere/at/all"
"""There is no journal: touching it would fail."""


def billing() -> ms.Job:
    """Every kind of source and sink."""
    job = ms.Job("billing")
    orders = job.table(
        journal.source("orders", changelog=True, path=NOWHERE),
        "id INT, customer INT, price DECIMAL(8, 2)",
        key="id",
    )
    customers = job.table(journal.source("customers", path=NOWHERE), "id INT, name STRING", key="id")
    bills = orders.as_("o").join(customers.as_("c"), on="o.customer = c.id").group_by("c.name").agg(n="count(*)")
    bills.to(journal.sink("bills", path=NOWHERE))
    bills.to(journal.sink("log", changelog=True, path=NOWHERE))
    events = job.stream(journal.source("events", path=NOWHERE, dead_letters="dead"), "x INT, y STRING")
    events.select("x", "y", now="current_timestamp()").to(journal.sink("events_out", path=NOWHERE))
    raw = job.stream(journal.source("raw", format="raw", path=NOWHERE))
    raw.select("key", value="concat(value, encode(string(timestamp), 'UTF-8'))").to(
        journal.sink("raw_out", format="raw", path=NOWHERE)
    )
    return job


def order(id: int, customer: int, price: str = "1.50") -> dict[str, Any]:
    return {"id": id, "customer": customer, "price": Decimal(price)}


INPUTS: Inputs = {
    "orders": [[order(1, 1), order(2, 1)], [Delete(order(2, 1)), order(2, 2)], [], [Delete(order(1, 1))]],
    "customers": [
        [{"id": 1, "name": "ann"}],
        [{"id": 1, "name": "bob"}, {"id": 2, "name": "cyd"}],
        [Delete({"id": 2})],
    ],
    "events": [[{"x": 2}, {"x": 1, "y": "é"}], [Record(b"{broken")], [{"x": 3}]],
    "raw": [[], [], [Record(b"\x00\xff", key="k")]],
}
CLOCK = ["2026-01-01T00:00:00Z", None, datetime(2026, 1, 2, tzinfo=UTC), None]


def bill(name: str, n: int) -> dict[str, Any]:
    return {"name": name, "n": n}


@pytest.mark.parametrize(
    "how", [{}, pytest.param({"restart_between": True, "parallelism": 3}, marks=pytest.mark.slow)], ids=str
)
def test_outputs_come_by_sink_and_epoch(millstream: Runner, how: dict[str, Any]) -> None:
    result = millstream.run(billing(), INPUTS, clock=CLOCK, **how)
    assert result["bills"].epochs == [
        [bill("ann", 2)],
        [Delete({"name": "ann"}), bill("bob", 1), bill("cyd", 1)],
        [Delete({"name": "cyd"})],
        [Delete({"name": "bob"})],
    ]
    tables = [[bill("ann", 2)], [bill("bob", 1), bill("cyd", 1)], [bill("bob", 1)], []]
    assert result["bills"].tables == result["log"].tables == tables
    assert result["log"].epochs[1] == [Delete(bill("ann", 2)), bill("bob", 1), bill("cyd", 1)]
    one, two = "2026-01-01T00:00:00.000000Z", "2026-01-02T00:00:00.000000Z"
    first = [{"x": 1, "y": "é", "now": one}, {"x": 2, "y": None, "now": one}]
    assert result["events_out"].epochs == [first, [], [{"x": 3, "y": None, "now": two}], []]
    assert result["events_out"].rows == [*first, {"x": 3, "y": None, "now": two}]
    assert [b64decode(row["value"]) for row in result["dead"].rows] == [b"{broken"]
    assert result["raw_out"].rows == [{"key": b"k", "value": b"\x00\xff2026-01-02 00:00:00"}]
    assert list(result) == ["bills", "log", "dead", "events_out", "raw_out"]


def test_batch_gives_what_is_there_at_the_end(millstream: Runner) -> None:
    result = millstream.run(billing(), INPUTS, mode=ms.batch())
    assert result["bills"].epochs == [[]]
    assert [row["x"] for row in result["events_out"].rows] == [1, 2, 3]
    assert result["raw_out"].rows[0]["value"].startswith(b"\x00\xff20")


def timed() -> ms.Job:
    job = ms.Job("timed")
    one = job.stream(journal.source("one"), "at TIMESTAMP", time="at", lateness="10 seconds")
    other = job.stream(journal.source("other"), "at TIMESTAMP", time="at")
    closed = one.union(other).window(ms.tumbling("1 minute")).agg(n="count(*)").final()
    closed.where("n > 0").to(journal.sink("closed"))
    return job


def test_watermarks_of_several_sources(millstream: Runner) -> None:
    """The least one counts, and what it closes comes in the same epoch."""
    inputs: Inputs = {
        "one": [[{"at": "2026-01-01T00:00:01Z"}], [Watermark("2026-01-01T00:01:00Z")]],
        "other": [[], [{"at": "2026-01-01T00:00:59Z"}], [Watermark("2026-01-01T00:01:00Z")], []],
    }
    result = millstream.run(timed(), inputs)
    assert [[row["n"] for row in rows] for rows in result["closed"].epochs] == [[], [], [2], []]


def test_processing_time_goes_by_the_clock(millstream: Runner) -> None:
    job = ms.Job("arrivals")
    rows = job.stream(journal.source("rows"), "x INT", time=ms.processing_time("came"))
    rows.window(ms.tumbling("1 minute")).agg(n="count(*)").final().to(journal.sink("closed"))
    rows.window(ms.sliding("1 minute")).group_by("x").agg(n="count(*)").to(journal.sink("last"))
    rows.window(ms.sliding("1 minute")).group_by("x").agg(n="count(*)").to(journal.sink("log", changelog=True))
    clock = ["2026-01-01T00:00:10Z", "2026-01-01T00:00:40Z", "2026-01-01T00:01:20Z", "2026-01-01T00:09:00Z"]
    result = millstream.run(job, {"rows": [[{"x": 1}], [{"x": 1}], [{"x": 1}], []]}, clock=clock)
    assert [[row["n"] for row in rows] for rows in result["closed"].epochs] == [[], [], [2], [1]]
    # In the third epoch a row comes and another one leaves: the result is what it was, and is not sent.
    assert [[row["n"] for row in rows] for rows in result["last"].tables] == [[1], [2], [2], []]
    assert result["last"].epochs[2:] == [[], [Delete({"x": 1})]]
    assert result["log"].epochs[2:] == [[], [Delete({"x": 1, "n": 2})]]
    with pytest.raises(ms.MillstreamError, match="is given came, which is not in its schema"):
        millstream.run(job, {"rows": [{"x": 1, "came": clock[0]}]})


def test_servers_are_not_asked(millstream: Runner) -> None:
    """Whatever the format on their side, rows are given and returned in one way."""
    job = ms.Job("systems")
    kept = job.table(kafka.source("people", servers="nowhere:1", format="debezium"), "id INT, name STRING", key="id")
    own = job.table(postgres.changes("cities", address="postgresql://nowhere"), "id INT, city STRING", key="id")
    lived = kept.as_("p").join(own.as_("c"), on="p.id = c.id").select("p.id", "p.name", "c.city", cid="c.id")
    lived.to(postgres.sink("lived", address="postgresql://nowhere"))
    events = job.stream(kafka.source("events", servers="nowhere:1", record=["topic", "timestamp"]), "x INT")
    events.to(kafka.sink("out", servers="nowhere:1"))
    inputs: Inputs = {
        "people": [[{"id": 1, "name": "ann"}], [Delete({"id": 1})]],
        "cities": [[{"id": 1, "city": "Rome"}]],
        "events": [{"x": 1}],
    }
    result = millstream.run(job, inputs, clock="2026-01-01")
    assert result["lived"].epochs[0] == [{"id": 1, "name": "ann", "city": "Rome", "cid": 1}]
    assert result["lived"].tables[1] == []
    assert result["out"].rows == [{"x": 1, "topic": "events", "timestamp": "2026-01-01T00:00:00.000000Z"}]


def test_a_source_that_is_given_nothing_is_empty(millstream: Runner) -> None:
    assert millstream.run(timed(), {})["closed"].epochs == [[]]


def wrong_inputs() -> dict[str, tuple[Inputs, str]]:
    return {
        "a source that is not there": ({"order": []}, "did you mean orders?"),
        "a column that is not there": ({"orders": [{"id": 1, "custmer": 1}]}, "did you mean customer?"),
        "rows beside epochs": ({"orders": [order(1, 1), [order(2, 1)]]}, "a list of such lists"),
        "a row without its key": ({"customers": [{"name": "ann"}]}, "without its key, id"),
        "a delete from a stream": ({"events": [Delete({"x": 1})]}, "is a stream"),
        "a row for raw records": ({"raw": [{"value": "x"}]}, "give it Record"),
        "a watermark without a time": ({"events": [Watermark("2026-01-01")]}, "no event time"),
        "what is no row": ({"events": [1]}, "is given a int"),  # type: ignore[list-item]
    }


@pytest.mark.parametrize("what", wrong_inputs())
def test_wrong_inputs_are_refused(millstream: Runner, what: str) -> None:
    inputs, told = wrong_inputs()[what]
    with pytest.raises(ms.MillstreamError, match=told) as error:
        millstream.run(billing(), inputs)
    assert error.value.code == "MS-TEST-003"
    assert error.value.at is not None
    assert error.value.at.file.endswith(Path(__file__).name)


@pytest.mark.parametrize(
    ("clock", "told"), [(["2026-01-01"] * 2, "2 times"), ([None], "first epoch"), ("today", "is not a time")]
)
def test_wrong_clocks_are_refused(millstream: Runner, clock: Any, told: str) -> None:
    with pytest.raises(ms.MillstreamError, match=told):
        millstream.run(timed(), {}, clock=clock)


def test_what_cannot_be_asked_for(millstream: Runner) -> None:
    with pytest.raises(ms.MillstreamError, match="MS-TEST-005"):
        millstream.run(timed(), {}, mode=ms.real_time())
    with pytest.raises(ms.MillstreamError, match="did you mean closed"):
        millstream.run(timed(), {})["close"]


def test_a_failure_is_told_in_the_words_of_the_job(millstream: Runner) -> None:
    job = ms.Job("strict")
    job.stream(journal.source("events"), "x INT").to(journal.sink("out"))
    with pytest.raises(ms.MillstreamError, match="broken"):
        millstream.run(job, {"events": [Record("{broken")]})


def test_rows_are_sorted_by_their_columns() -> None:
    rows: list[Any] = [{"a": "x", "b": 2}, {"a": None, "b": 1}, {"a": "x", "b": 1.5}, Delete({"a": "z", "b": 0})]
    assert in_order(rows) == [rows[3], rows[1], rows[2], rows[0]]
    assert in_order([{"a": [2]}, {"a": [1, 2]}, {"a": True}]) == [{"a": True}, {"a": [1, 2]}, {"a": [2]}]


def test_a_flat_list_is_an_epoch() -> None:
    assert cut("s", [{"x": 1}, {"x": 2}]) == [[{"x": 1}, {"x": 2}]]
    assert cut("s", [[{"x": 1}], []]) == [[{"x": 1}], []]
    assert cut("s", []) == [[]]


@pytest.mark.parametrize("call", ["now()", "NOW()", "current_timestamp", "localtimestamp()", "timestamp(curdate())"])
def test_the_clock_moves_all_that_tells_the_time(millstream: Runner, call: str) -> None:
    job = ms.Job("clock")
    job.stream(journal.source("in", path=NOWHERE), "x INT").select(at=f"date_format({call}, 'yyyy-MM-dd')").to(
        journal.sink("out", path=NOWHERE)
    )
    result = millstream.run(
        job, {"in": [[{"x": 1}], [{"x": 2}]]}, clock=["2031-01-01T00:00:00Z", "2032-02-02T00:00:00Z"]
    )
    assert result["out"].epochs == [[{"at": "2031-01-01"}], [{"at": "2032-02-02"}]]
    whole = millstream.run(
        job, {"in": [[{"x": 1}], [{"x": 2}]]}, clock=["2031-01-01T00:00:00Z", "2032-02-02T00:00:00Z"], mode=ms.batch()
    )
    assert whole["out"].rows == [{"at": "2032-02-02"}] * 2, "all at once, at the last time"


@pytest.mark.parametrize("mode", [None, ms.batch()], ids=["epochs", "batch"])
def test_the_clock_moves_time_in_conditions_and_aggregates(millstream: Runner, mode: ms.Mode | None) -> None:
    job = ms.Job("recent")
    rows = job.stream(journal.source("in", path=NOWHERE), "x INT, at TIMESTAMP")
    recent = rows.where("at > now() - INTERVAL 1 HOUR").select("x", day="current_date()")
    recent.group_by("day").agg(n="count(*)").to(journal.sink("out", path=NOWHERE))
    inputs: Inputs = {"in": [{"x": 1, "at": "2031-01-01T11:30:00Z"}, {"x": 2, "at": "2031-01-01T10:59:00Z"}]}
    result = millstream.run(job, inputs, clock="2031-01-01T12:00:00Z", mode=mode)
    assert result["out"].rows == [{"day": "2031-01-01", "n": 1}]
