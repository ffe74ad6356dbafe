"""What is known about an aggregate function: how it is called, what kernels keep for it, what it is in batch SQL."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from sqlglot import exp


@dataclass(frozen=True)
class Form:
    """One way to write a call: its name, what the parser makes of it, and arguments as an example has them."""

    name: str
    parsed: type[exp.Expr]
    arguments: tuple[str, ...]

    @property
    def example(self) -> str:
        return f"{self.name}({', '.join(self.arguments)})"


@dataclass(frozen=True)
class Constant:
    """An argument that must be a literal. `parsed`: where the parser keeps it. `default`: of a form without it."""

    parsed: str
    what: str
    fits: Callable[[exp.Literal], bool]
    default: str | None


@dataclass(frozen=True)
class ValueType:
    """What a function must know about its argument's type. Only decimals have a precision and a scale."""

    sql: str
    kind: Literal["whole", "floating", "decimal", "other"]
    precision: int = 0
    scale: int = 0

    @property
    def number(self) -> bool:
        return self.kind != "other"

    def decimal(self, more_digits: int, more_scale: int = 0) -> str:
        return f"DECIMAL({min(38, self.precision + more_digits)}, {min(38, self.scale + more_scale)})"


EVERY_ROW = "1"
"""What count(*) is computed from."""


@dataclass(frozen=True)
class Argument:
    """What a function is computed from: SQL over the rows' fields.

    `by`: the order of min_by and max_by, or the constant. `key`, `by_key`: give a value in the one form that kernels
    compare by its bytes. `also`: the functions that the aggregate computes of the same rows and values. `filters`: the
    conditions of all calls of the function with the same argument.
    """

    sql: str
    type: ValueType
    by: str
    where: str | None
    key: Callable[[str], str]
    by_key: Callable[[str], str]
    append_only: bool
    also: frozenset[str]
    filters: tuple[str | None, ...]

    @property
    def value(self) -> str:
        """NULL in rows that the filter leaves out."""
        return f"CASE WHEN {self.where} THEN {self.sql} END" if self.where else self.sql

    @property
    def count(self) -> str:
        """The weight of a row that counts."""
        return f"CASE WHEN {self.value} IS NULL THEN 0L ELSE `_w` END"


@dataclass(frozen=True)
class Accumulator:
    """A kernel's accumulator: its kind and the payload columns that feed it, weights folded in."""

    kind: str
    payload: tuple[str, ...]


@dataclass(frozen=True)
class Computed:
    """How a function is computed.

    `result`: SQL over the accumulators' results, given by name. `batch`: the call as Spark knows it, of `{x}`, `{by}`
    and `{where}`; where Spark leaves an order open, with one. `large`: whether it grows with its rows, and is too large
    to be kept with all panes of a key in one value.
    """

    accumulators: Callable[[Argument], tuple[Accumulator, ...]]
    result: Callable[[Argument, tuple[str, ...]], str]
    batch: str
    large: bool


@dataclass(frozen=True)
class Function:
    """One aggregate function. Nothing has a default: a definition that leaves something out fails at import.

    `distinct`: how it is computed over distinct values; None: it cannot be. `numbers`: whether it takes only numbers.
    `several`: whether it takes several arguments together when they are DISTINCT.
    """

    name: str
    forms: tuple[Form, ...]
    constant: Constant | None
    numbers: bool
    computed: Computed
    distinct: Computed | None
    several: bool

    def of(self, distinct: bool) -> Computed:
        if not distinct:
            return self.computed
        assert self.distinct is not None, f"{self.name} of different values is refused when the job is built"
        return self.distinct


def only(argument: Argument, results: tuple[str, ...]) -> str:
    """The result of the one accumulator, as it is."""
    (result,) = results
    return result
