"""Results of no rows at all: a group by nothing has one before its first row has come.

Plain SQL fails there on `count(*) / count(DISTINCT x)`, and so would a job, forever, before its input begins. Such a
result is NULL instead, in every mode. It depends on the rows alone, not on whether there were any before: the sum of
the changes is what a batch over the same rows gives.
"""

from __future__ import annotations

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from sqlglot import exp

from millstream.plan.aggregates import Result
from millstream.plan.expressions import Expr
from millstream.spark import jvm

MAY_FAIL = (exp.Div, exp.IntDiv, exp.Mod, exp.Cast, exp.Bracket, exp.Func)
KNOWN: dict[tuple[str, ...], bool] = {}
"""Whether a result fails, by all that decides it: asked of Spark once."""


def failing(results: tuple[Result, ...], calls: dict[str, str], rows: DataFrame) -> frozenset[str]:
    """The names of the results that cannot be computed without rows. `calls`: the figures, as Spark's aggregates."""
    risky = [part for part in results if Expr(part.sql).tree.find(*MAY_FAIL) is not None]
    return frozenset(part.name for part in risky if fails(part.sql, calls, rows))


def fails(sql: str, calls: dict[str, str], rows: DataFrame) -> bool:
    spark = rows.sparkSession
    told = (sql, repr(calls), rows.schema.json(), str(spark.conf.get("spark.sql.ansi.enabled")))
    if told not in KNOWN:
        # Of Java's own: rows of Python's would come from as many Python processes as there are slots.
        none = DataFrame(
            spark._jsparkSession.createDataFrame(jvm.named("java.util.ArrayList")(), rows._jdf.schema()), spark
        )
        result = none.selectExpr(*(f"{call} AS {name}" for name, call in calls.items())).selectExpr(sql)
        try:
            result.collect()
            KNOWN[told] = False
        except (PySparkException, Py4JError):
            KNOWN[told] = True
    return KNOWN[told]


def guarded(sql: str, rows: str) -> str:
    """NULL if there are no rows; `rows`: SQL for their number."""
    return f"CASE WHEN {rows} = 0 THEN NULL ELSE {sql} END"
