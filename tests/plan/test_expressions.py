"""Expressions as text: what they read, and what they become elsewhere."""

from __future__ import annotations

import pytest

from millstream.plan.changing import repeatable, steady
from millstream.plan.expressions import Expr


def test_a_field_within_a_struct_belongs_to_its_column() -> None:
    within = Expr("`bid`.price + `fee`")
    assert within.fields == {"bid", "fee"}
    assert within.over(lambda name: f"`_n0`.`{name}`") == "`_n0`.`bid`.price + `_n0`.`fee`"


def test_a_variable_of_a_lambda_is_no_column() -> None:
    within = Expr("FILTER(`bids`, x -> x.price > `least`)")
    assert within.fields == {"bids", "least"}
    assert within.over(lambda name: f"`{name}2`") == "FILTER(`bids2`, x -> x.price > `least2`)"


def test_what_chance_decides_is_not_repeatable() -> None:
    assert repeatable(Expr("`price` > 10 AND lower(`name`) = 'a' AND `at` < now()"))
    asked = ("rand() < 0.5", "random(3) < 0.5", "uuid() > `name`", "randn() > 0", "spark_partition_id() = 1")
    assert not any(repeatable(Expr(sql)) for sql in asked)


@pytest.mark.parametrize(
    "sql",
    [
        "now() > `at`",
        "`now`() > `at`",
        "current_timestamp > `at`",
        "current_date",
        "coalesce(`at`, localtimestamp())",
        "unix_timestamp() - unix_timestamp(`at`)",
        "exists(`tags`, x -> x = uuid())",
        "timestamp' NOW utc' > `at`",
        "CAST('today' AS DATE)",
        "try_cast('tomorrow' AS timestamp_ntz)",
        "to_date('yesterday') > `at`",
        "aes_encrypt(`name`, `key`)",
        "aes_encrypt(`name`, `key`, 'GCM', 'DEFAULT')",
        "reflect('java.util.UUID', 'randomUUID')",
    ],
)
def test_what_changes_is_found(sql: str) -> None:
    assert not steady(Expr(sql))


@pytest.mark.parametrize(
    "sql",
    [
        "`now` > `current_timestamp`",
        "unix_timestamp(`at`)",
        "timestamp'2026-01-01' > `at`",
        "CAST('now' AS STRING) = `name`",
        "`name` = 'now'",
        "upper('now') = `name`",
        "aes_encrypt(`name`, `key`, 'ECB')",
        "aes_encrypt(`name`, `key`, 'GCM', 'DEFAULT', `iv`)",
    ],
)
def test_what_does_not_change_is_left_alone(sql: str) -> None:
    assert steady(Expr(sql))
