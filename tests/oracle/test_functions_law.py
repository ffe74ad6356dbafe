"""No aggregate function without a job that the oracle judges it by."""

from __future__ import annotations

import sqlglot
from sqlglot import exp

from millstream.plan.functions.registry import ALL, PARSED
from tests.oracle import aggregate_jobs

Called = set[tuple[str, bool]]


def called() -> Called:
    found: Called = set()
    for sql in (*aggregate_jobs.FIGURES.values(), *aggregate_jobs.MORE.values()):
        for node in sqlglot.parse_one(sql, dialect="spark").find_all(exp.AggFunc):
            found.add((PARSED[type(node)].name, isinstance(node.this, exp.Distinct)))
    return found


def test_each_function_is_in_a_law_test() -> None:
    wanted = {(function.name, False) for function in ALL}
    wanted |= {(function.name, True) for function in ALL if function.distinct not in (None, function.computed)}
    assert wanted <= called()
