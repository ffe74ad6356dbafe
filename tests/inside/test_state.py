"""State as typed rows: for every epoch, what batch SQL gives for its rows; clear errors for what is missing."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner, Result

import millstream as ms
from millstream.cli.main import main
from tests.inside.orders import ROWS, Orders

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def totals(rows: list[tuple[str, int, str]]) -> dict[str, tuple[int, int]]:
    names = {name for name, _, _ in rows}
    prices = {name: [price for other, price, _ in rows if other == name] for name in names}
    return {name: (len(own), sum(own)) for name, own in prices.items()}


def ask(orders: Orders, *options: str) -> Result:
    return CliRunner().invoke(main, ["state", str(orders.folder / "checkpoint"), *options])


def rows(result: Result) -> list[dict[str, Any]]:
    assert result.exit_code == 0, result.output
    return [json.loads(line) for line in result.output.splitlines()]


def test_state_of_each_epoch_is_that_of_the_rows_up_to_it(orders: Orders, spark: SparkSession) -> None:
    for epoch in range(3):
        with orders.job().state(at=epoch, operators=["totals"], spark=spark) as state:
            table = state.arrow("totals")
            assert table.column_names[0] == "customer"
            found = {row["customer"]: (row["count0"], row["sum1"]) for row in table.to_pylist()}
            frame = {row["customer"]: (row["count0"], row["sum1"]) for row in state.frame("totals").collect()}
        assert found == frame == totals(ROWS[: 2 * epoch + 2])


def test_lists_maps_and_timers_are_rows_too(orders: Orders) -> None:
    prices = [
        (row["index"], row["value"]) for row in rows(ask(orders, "recent", "--key", "ann", "--json")) if "index" in row
    ]
    assert sorted(prices) == [(0, 5), (1, 1), (2, 9)]
    timers = [row for row in rows(ask(orders, "minutes", "--json")) if row["list"] == "timers"]
    assert {row["at"][:19] for row in timers} == {"2026-01-01 00:04:00"}


def test_a_key_of_an_earlier_epoch_and_what_changed(orders: Orders) -> None:
    ann = rows(ask(orders, "totals", "--key", "customer=ann", "--at", "0", "--json"))
    assert [(row["count0"], row["sum1"]) for row in ann] == [(1, 5)]
    changed = rows(ask(orders, "totals", "--changes", "0", "1", "--json"))
    assert {(row["_w"], row["customer"], row["sum1"]) for row in changed} == {
        (-1, "ann", 5),
        (1, "ann", 6),
        (1, "cid", 2),
    }


def test_sql_over_all_state(orders: Orders) -> None:
    query = "SELECT sum(sum1) AS price, count(*) AS customers FROM totals_group"
    assert rows(ask(orders, "--sql", query, "--json")) == [{"price": 27, "customers": 3}]


def test_what_there_is_for_people(orders: Orders) -> None:
    text = ask(orders).output
    assert "job orders, after epoch" in text
    assert "totals_group" in text
    assert "customer" in ask(orders, "totals", "--limit", "1").output
    assert "… and 2 more" in ask(orders, "totals", "--limit", "1").output


@pytest.mark.parametrize(
    ("options", "error"),
    [
        (("totals", "--key", "zoe"), "MS-STATE-003: there is no state of this key."),
        (("totals", "--at", "99"), 'MS-STATE-001: epoch 99 of job "orders" is not kept.'),
        (("total",), 'MS-STATE-002: no step "total" of job "orders" has state.'),
    ],
)
def test_what_is_not_there(orders: Orders, options: tuple[str, ...], error: str) -> None:
    result = ask(orders, *options)
    assert result.exit_code == 1
    assert error in result.output


def test_state_of_a_job_that_runs(orders: Orders, spark: SparkSession, tmp_path: Any) -> None:
    """In real time, with all slots taken: no Spark job reads it."""
    live = Orders(tmp_path)
    live.feed(ROWS)
    job = ms.Job("live", checkpoint=str(tmp_path / "live"))
    stream = job.stream(ms.journal.source("orders", path=live.path), "customer STRING, price INT")
    stream.group_by("customer").agg(n="count(*)").named("n").to(ms.journal.sink("totals", path=live.path))
    run = job.start(ms.real_time("200 ms"), spark=spark)
    for _ in range(600):
        if run.poll(0.1) or len(live.written()["totals"]) >= 3:
            break
    with job.state(spark=spark) as state:
        found = {row["customer"]: row["count0"] for row in state.arrow("n").to_pylist()}
    run.stop()
    assert found == {"ann": 3, "bob": 2, "cid": 1}
