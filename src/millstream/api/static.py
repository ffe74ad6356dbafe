"""Rows that streams are enriched from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from millstream.plan import build
from millstream.plan.node import Node

if TYPE_CHECKING:
    from millstream.api.job import Job


class Static:
    """Rows that do not change while the job runs: streams are enriched from them."""

    def __init__(self, job: Job, node: Node) -> None:
        self._job = job
        self._node = node

    def __repr__(self) -> str:
        return f"<Static {self._node.name}({', '.join(column.label for column in self._node.columns)})>"

    def as_(self, alias: str) -> Static:
        """The same rows under an alias, as in SQL."""
        return Static(self._job, build.alias(self._node, alias))

    def select(self, *columns: str, **named: str) -> Static:
        """Columns by name, and new ones by expression."""
        return Static(self._job, build.select(self._node, columns, named))

    def where(self, condition: str) -> Static:
        return Static(self._job, build.where(self._node, condition))
