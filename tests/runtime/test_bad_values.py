"""Expressions that Spark refuses, and those that fail on a row: the step, the user's line, and no other start."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import millstream as ms
from millstream import journal
from millstream.runtime.bad_values import bad_call, bad_value
from millstream.runtime.failures import transient

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Fill = Callable[[ms.Stream], ms.Stream | ms.Table]


def failing(fill: Fill, mode: ms.Mode, folder: Path, spark: SparkSession) -> ms.MillstreamError:
    path = str(folder / "journal")
    journal.create(path, "in", 1)
    journal.create(path, "out", 1)
    with journal.producer(path, "in") as producer:
        producer.send({"id": 1, "text": "a", "v": 1})
    job = ms.Job("values", checkpoint=str(folder / "checkpoint"), parallelism=1)
    found = fill(job.stream(journal.source("in", path=path), "id INT, text STRING, v INT"))
    found.to(journal.sink("out", path=path, changelog=isinstance(found, ms.Table)))
    with pytest.raises(ms.MillstreamError) as error:
        job.run(mode, spark=spark)
    assert error.value.at is not None
    assert error.value.at.file.endswith("test_bad_values.py")
    assert not transient(error.value, job.plan())
    return error.value


VALUES: dict[str, tuple[Fill, str]] = {
    "id / (v - 1)": (lambda rows: rows.select(x="id / (v - 1)"), "try_divide"),
    "CAST(text AS INT)": (lambda rows: rows.where("CAST(text AS INT) > 0"), "try_cast"),
    "10 % (v - 1)": (lambda rows: rows.group_by("id").agg(n="sum(10 % (v - 1))"), "try_mod"),
    "1 / (SUM(v) - 1)": (lambda rows: rows.group_by("id").agg(n="1 / (sum(v) - 1)"), "try_divide"),
    "v + 2147483647": (lambda rows: rows.select(x="v + 2147483647").group_by("x").agg(n="count(*)"), "try_add"),
    "a.v / (b.v - 1)": (
        lambda rows: rows.as_("a").join(rows.as_("b"), on="a.id = b.id AND a.v / (b.v - 1) > 0").select("a.id"),
        "try_divide",
    ),
}


@pytest.mark.parametrize("part", VALUES)
def test_an_expression_that_fails_on_a_row(part: str, tmp_path: Path, spark: SparkSession) -> None:
    fill, hint = VALUES[part]
    for mode in (ms.available_now(), ms.batch()):
        error = failing(fill, mode, tmp_path / type(mode).__name__, spark)
        assert error.code == "MS-EXPR-009"
        assert f"cannot work out {part} for a row" in error.message
        assert error.message.startswith('step "')
        assert hint in (error.hint or "")


UNCODED: dict[str, tuple[Fill, str]] = {
    'step "project_': (lambda rows: rows.select(x="sequence(v, 0, 1)"), "SEQUENCE(v, 0, 1)"),
    'step "named" ': (
        lambda rows: rows.group_by("id").agg(n="count(*)").select(x="printf('%d', CAST(n AS STRING))").named("named"),
        "PRINTF('%d', CAST(n AS STRING))",
    ),
}


@pytest.mark.parametrize("step", UNCODED)
@pytest.mark.parametrize(
    "mode",
    [ms.available_now(), ms.batch(), pytest.param(ms.real_time("500 ms"), marks=pytest.mark.slow)],
    ids=lambda mode: type(mode).__name__,
)
def test_an_error_to_which_spark_gives_no_code(step: str, mode: ms.Mode, tmp_path: Path, spark: SparkSession) -> None:
    fill, part = UNCODED[step]
    error = failing(fill, mode, tmp_path, spark)
    assert error.code == "MS-EXPR-009"
    assert error.message.startswith(step)
    assert f"cannot work out {part} for a row" in error.message
    assert "STREAM_FAILED" not in (error.found or "STREAM_FAILED")


def test_what_a_message_says_may_be_data() -> None:
    """The function is known by its class, so a word such as "left" in the message blames no other step."""
    job = ms.Job("words")
    rows = job.stream(journal.source("in"), "text STRING, v INT")
    ends = rows.select("v", part="left(text, 1)").select("part", x="sequence(v, 0, 1)")
    ends.to(journal.sink("out"))
    trace = """java.lang.IllegalArgumentException: nothing is left
\tat org.apache.spark.sql.catalyst.expressions.Sequence$.getSequenceLength(collectionOperations.scala:1)
\tat org.apache.spark.scheduler.Task.run(Task.scala:1)"""
    error = bad_call(trace, job.plan().sinks)
    assert error is not None
    assert "cannot work out SEQUENCE(v, 0, 1) for a row" in error.message
    assert error.at is not None


REFUSED: dict[str, Fill] = {
    "Cannot resolve routine NOFUNCTION": lambda rows: rows.select(x="nofunction(id)"),
    '"(id + 1)" of type "INT" is not a boolean': lambda rows: rows.where("id + 1"),
    'incompatible types ("ARRAY<INT>" and "INT")': lambda rows: rows.select(a="array(id)").select(b="a + 1"),
    'incompatible types ("INT" and "ARRAY<INT>")': lambda rows: (
        rows.as_("a").join(rows.as_("b"), on="a.id = array(b.id)").select("a.id")
    ),
    "Cannot resolve routine NOSUCH": lambda rows: rows.group_by("id").agg(n="nosuch(max(v))"),
}


@pytest.mark.parametrize("said", REFUSED)
def test_an_expression_that_spark_refuses(said: str, tmp_path: Path, spark: SparkSession) -> None:
    for mode in (ms.available_now(), ms.batch()):
        error = failing(REFUSED[said], mode, tmp_path / type(mode).__name__, spark)
        assert error.code == "MS-EXPR-008"
        assert said in (error.found or "")


def test_a_run_says_what_grows_for_ever(tmp_path: Path, spark: SparkSession, caplog: pytest.LogCaptureFixture) -> None:
    """Times in a condition do not bound a join of streams that have no time."""
    path = str(tmp_path / "journal")
    for topic in ("in", "out"):
        journal.create(path, topic, 1)
    job = ms.Job("join", checkpoint=str(tmp_path / "checkpoint"), parallelism=1)
    rows = job.stream(journal.source("in", path=path), "id INT, at TIMESTAMP")
    near = "a.id = b.id AND a.at BETWEEN b.at AND b.at + INTERVAL 1 HOUR"
    rows.as_("a").join(rows.as_("b"), on=near).select("a.id").to(journal.sink("out", path=path))
    with caplog.at_level(logging.WARNING, "millstream"):
        job.run(ms.available_now(), spark=spark)
    assert "keeps every row of the stream on its left and its right for ever" in caplog.text


def said_by_spark(part: str) -> str:
    return (
        f"[DIVIDE_BY_ZERO] Division by zero. SQLSTATE: 22012\n== SQL (line 1, position 1) ==\n{part}\n{'^' * len(part)}"
    )


def test_what_is_cast_on_the_way_is_the_users_expression() -> None:
    job = ms.Job("values")
    rows = job.stream(journal.source("in"), "id INT, k STRUCT<xs: ARRAY<INT>>")
    rows.group_by(first="k.xs[0]").agg(n="count(*)").to(journal.sink("out"))
    error = bad_value(said_by_spark("CAST(`_n0`.`k`.xs[0] AS string)"), job._sinks)
    assert error is not None
    assert error.message.endswith("cannot work out k.xs[0] for a row.")
    assert error.at is not None


def test_names_that_are_not_the_users_are_not_shown() -> None:
    error = bad_value(said_by_spark("CAST(`_o1`.a1 / CAST(`_o1`.a2 AS DECIMAL(20, 0)) AS DECIMAL(38, 14))"), ())
    assert error is not None
    assert error.message == "a step cannot work out an expression for a row."
