"""Expressions as text: what they read, and what they become elsewhere."""

from __future__ import annotations

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
    assert Expr("`price` > 10 AND lower(`name`) = 'a'").repeatable
    assert not any(
        Expr(sql).repeatable for sql in ("rand() < 0.5", "random(3) < 0.5", "uuid() > `name`", "randn() > 0")
    )
