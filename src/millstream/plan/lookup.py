"""Rows looked up in a table that does not change while the job runs: without state, without a shuffle."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from millstream.plan.columns import Columns
from millstream.plan.expressions import Expr
from millstream.plan.node import Node, Stateless
from millstream.plan.nodes import Source
from millstream.plan.two_sides import Join


@dataclass(frozen=True, eq=False)
class Lookup(Stateless):
    """Each row of a stream (left) with the rows that a table (right) has for it, which every task holds in memory."""

    left: Node
    right: Node
    on: tuple[tuple[Expr, Expr], ...]
    residual: Expr | None
    outer: bool

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.left, self.right)

    @cached_property
    def pairing(self) -> Join:
        """The join that says what goes with what."""
        return Join(None, None, self.left, self.right, self.on, self.residual)

    @cached_property
    def columns(self) -> Columns:
        return self.pairing.columns

    @cached_property
    def append_only(self) -> bool:
        return self.left.append_only

    @cached_property
    def event_time(self) -> str | None:
        time = self.left.event_time
        return None if time is None else self.pairing.carried[0][time]

    @cached_property
    def lag(self) -> int | None:
        return self.left.lag

    def reads(self, needed: set[str]) -> list[set[str]]:
        return self.pairing.reads(needed)


def is_static(node: Node) -> bool:
    """Whether all its rows are known when the job starts."""
    while len(node.inputs) == 1:
        (node,) = node.inputs
    return isinstance(node, Source) and node.static
