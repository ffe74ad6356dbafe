"""Finds, in the condition of a join, how far apart in time its partners can be."""

from __future__ import annotations

import re
from dataclasses import dataclass

from sqlglot import exp

MICROS = {"MICROSECOND": 1, "MILLISECOND": 1_000, "SECOND": 1_000_000, "MINUTE": 60_000_000, "HOUR": 3_600_000_000}
MICROS |= {"DAY": 86_400_000_000, "WEEK": 604_800_000_000}


@dataclass(frozen=True)
class Times:
    """The fields that carry the times of the sides."""

    left: str
    right: str


@dataclass(frozen=True)
class Sum:
    """`left` times the left's time, plus `right` times the right's, plus a number of microseconds."""

    left: int = 0
    right: int = 0
    micros: int = 0

    def __add__(self, other: Sum) -> Sum:
        return Sum(self.left + other.left, self.right + other.right, self.micros + other.micros)

    def __neg__(self) -> Sum:
        return Sum(-self.left, -self.right, -self.micros)


@dataclass(frozen=True)
class Bounds:
    """By how many microseconds the right's time is later than the left's, at least and at most."""

    least: int | None = None
    most: int | None = None

    def and_(self, other: Bounds) -> Bounds:
        least = [part for part in (self.least, other.least) if part is not None]
        most = [part for part in (self.most, other.most) if part is not None]
        return Bounds(max(least, default=None), min(most, default=None))


@dataclass(frozen=True)
class Within:
    """The fields that carry the times of a join's inputs; by how much the right's is later, at least and at most."""

    left: str
    right: str
    least_ms: int
    most_ms: int


@dataclass(frozen=True)
class Lifetime:
    """How long a join keeps the rows of a side: until the watermark is far enough past the time in a field.

    `late_ms`: a row that is older than the watermark by more is late; None: all come in time.
    """

    field: str
    keep_ms: int
    late_ms: int | None


def bounds(conditions: list[exp.Expr], times: Times) -> Bounds:
    """What conditions that all must hold say together; those that say nothing about the times are skipped."""
    found = Bounds()
    for tree in conditions:
        if isinstance(tree, exp.Between):
            found = found.and_(ordered(tree.args["low"], tree.this, times))
            found = found.and_(ordered(tree.this, tree.args["high"], times))
        elif isinstance(tree, exp.LT | exp.LTE):
            found = found.and_(ordered(tree.this, tree.expression, times))
        elif isinstance(tree, exp.GT | exp.GTE):
            found = found.and_(ordered(tree.expression, tree.this, times))
    return found


def ordered(lower: exp.Expr, upper: exp.Expr, times: Times) -> Bounds:
    """What `lower <= upper` says about the times."""
    one, other = total(lower, times), total(upper, times)
    if one is None or other is None:
        return Bounds()
    apart = other + -one  # at least 0
    if (apart.left, apart.right) == (1, -1):
        return Bounds(most=apart.micros)
    return Bounds(least=-apart.micros) if (apart.left, apart.right) == (-1, 1) else Bounds()


def total(tree: exp.Expr, times: Times) -> Sum | None:
    """A value as a sum of the two times and lengths of time; None if it is anything else."""
    match tree:
        case exp.Paren():
            return total(tree.this, times)
        case exp.Column():
            return {times.left: Sum(left=1), times.right: Sum(right=1)}.get(tree.name)
        case exp.Interval():
            micros = length(tree)
            return None if micros is None else Sum(micros=micros)
        case exp.Add() | exp.Sub():
            one, other = total(tree.this, times), total(tree.expression, times)
            if one is None or other is None:
                return None
            return one + (-other if isinstance(tree, exp.Sub) else other)
        case _:
            return None


def length(tree: exp.Interval) -> int | None:
    """`INTERVAL 10 MINUTES`, `INTERVAL '1 day 2 hours'`; months vary in length."""
    number = tree.this
    negative = isinstance(number, exp.Neg)
    value = number.this if negative else number
    if not isinstance(value, exp.Literal):
        return None
    text = f"{value.this} {tree.unit.name}" if isinstance(tree.unit, exp.Var) else str(value.this)
    parts = re.findall(r"([+-]?\d+(?:\.\d+)?)\s+([a-z]+)", text, re.IGNORECASE)
    known = all(unit.upper().removesuffix("S") in MICROS for _, unit in parts)
    if not parts or not known or re.sub(r"([+-]?\d+(?:\.\d+)?)\s+([a-z]+)", "", text, flags=re.IGNORECASE).strip():
        return None
    micros = sum(round(float(many) * MICROS[unit.upper().removesuffix("S")]) for many, unit in parts)
    return -micros if negative else micros
