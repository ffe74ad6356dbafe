"""Functions that change: refused over tables, computed once for each row of a stream."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import millstream as ms
from millstream import journal
from millstream.plan.changing import CHANGING
from millstream.testing import Runner

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BASE = "org.apache.spark.sql.catalyst.expressions."
SESSION = {
    *("current_catalog", "current_database", "current_path", "current_schema", "current_timezone"),
    *("current_user", "session_user", "user"),
}
"""What is the same as long as a run goes on."""


def registered(spark: SparkSession) -> dict[str, str]:
    """The functions of Spark SQL, and the class of each."""
    registry = spark._jsparkSession.sessionState().functionRegistry()
    names = registry.listFunction().iterator()
    found = {}
    while names.hasNext():
        name = names.next()
        found[name.funcName()] = registry.lookupFunction(name).get().getClassName()
    return found


def test_spark_has_no_other_functions_that_change(spark: SparkSession) -> None:
    """By Spark's registry: random functions, and those without arguments that planning replaces by a value."""
    assert spark._jvm is not None
    load = spark._jvm.java.lang.ClassLoader.getSystemClassLoader().loadClass
    chance = [load(BASE + name) for name in ("Nondeterministic", "ExpressionWithRandomSeed")]
    named = set()
    for name, kind in registered(spark).items():
        random = kind.startswith(BASE) and any(part.isAssignableFrom(load(kind)) for part in chance)
        if random or any(word in kind for word in (".Current", ".Now", ".CurDate", ".LocalTime")):
            named.add(name)
    assert named - CHANGING == SESSION
    assert {"rand", "uuid", "uniform", "now", "curdate", "localtime", "current_time"} <= named


def streams() -> tuple[ms.Job, ms.Stream, ms.Stream]:
    job = ms.Job("pairs")
    made = [job.stream(journal.source(topic), "id INT, at TIMESTAMP", time="at") for topic in ("left", "right")]
    return job, made[0].as_("l"), made[1].as_("r")


@pytest.mark.parametrize(
    "on",
    ["l.id = r.id", "l.id = r.id AND r.at BETWEEN l.at AND l.at + INTERVAL 1 DAY"],
    ids=["for ever", "within a day"],
)
def test_streams_are_joined_by_the_time_at_which_rows_meet(millstream: Runner, on: str) -> None:
    """In the join's condition as in one on its result: not by that of the job's start, nor of one of the rows."""
    job, left, right = streams()
    late = "l.at < current_timestamp() - INTERVAL 1 HOUR"
    left.join(right, on=f"{on} AND {late}").select("l.id").to(journal.sink("asked"))
    left.join(right, on=on).where(late).select("l.id").to(journal.sink("chosen"))
    morning, noon = "2026-01-01T08:00:00Z", "2026-01-01T12:00:00Z"
    rows = [{"id": 1, "at": morning}, {"id": 2, "at": morning}]
    inputs = {"left": [rows, []], "right": [[rows[0]], [rows[1]]]}
    result = millstream.run(job, inputs, clock=["2026-01-01T08:30:00Z", noon])
    assert result["asked"].epochs == result["chosen"].epochs == [[], [{"id": 2}]]


def test_a_column_of_a_stream_is_kept_as_it_was(millstream: Runner) -> None:
    """Also in a table that is made of it: what is taken back is what was sent."""
    job = ms.Job("seen")
    rows = job.stream(journal.source("rows"), "id INT, n INT", name="rows")
    seen = rows.with_columns(seen="current_timestamp()", dice="rand()", local="localtimestamp()")
    latest = seen.to_table("id", by="n")
    latest.select("id", "seen").to(journal.sink("latest"))
    latest.group_by("dice").agg(n="max(n)").to(journal.sink("by_dice", changelog=True))
    inputs = {"rows": [[{"id": 1, "n": 1}], [{"id": 1, "n": 2}]]}
    result = millstream.run(job, inputs, clock=["2026-01-01T00:00:00Z", "2026-01-01T01:00:00Z"])
    assert [[row["seen"][:13] for row in table] for table in result["latest"].tables] == [
        ["2026-01-01T00"],
        ["2026-01-01T01"],
    ]
    assert [[row["n"] for row in table] for table in result["by_dice"].tables] == [[1], [2]]
