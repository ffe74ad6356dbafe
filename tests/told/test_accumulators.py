"""The kinds of accumulators that functions ask for are those that the kernels have."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

from millstream.plan.functions.definition import Argument, ValueType
from millstream.plan.functions.registry import ALL

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TYPES = (
    ValueType("BIGINT", "whole"),
    ValueType("DOUBLE", "floating"),
    ValueType("DECIMAL(10,2)", "decimal", 10, 2),
)


def argument(type_: ValueType, append_only: bool) -> Argument:
    return Argument("x", type_, "y", None, str, str, append_only, frozenset(), (None,))


def test_kinds(spark: SparkSession) -> None:
    computed = [part for function in ALL for part in (function.computed, function.distinct) if part is not None]
    asked = {
        accumulator.kind
        for part, type_, append_only in product(computed, TYPES, (True, False))
        for accumulator in part.accumulators(argument(type_, append_only))
    }
    assert spark._jvm is not None
    assert asked == set(spark._jvm.millstream.aggregate.Accumulators.kinds())
